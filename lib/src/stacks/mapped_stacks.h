// Converts chains of addresses to stacks of a profile, using the current mappings.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/stack_profile.h"
#include "stacks/address_space.h"
#include "stacks/common_root.h"

namespace tally {

// Adds the locations of addresses to a profile, with the mappings that hold them.
class MappedLocations {
public:
  // `ranges` must outlive it. `program` is the number of the program's range.
  explicit MappedLocations(const std::vector<CodeRange> &ranges,
                           uint32_t program = AddressSpace::nowhere)
      : ranges_(ranges), program_(program) {}
  MappedLocations(const MappedLocations &) = delete;
  MappedLocations &operator=(const MappedLocations &) = delete;

  void set_program(uint32_t program) { program_ = program; }

  // Returns the location of `pc`. `range` is the number of a range, or AddressSpace::nowhere.
  LocationId of(StackProfileBuilder &builder, uint32_t range, uint64_t pc);

private:
  MappingId mapping_of(StackProfileBuilder &builder, uint32_t range);
  MappingId kernel_mapping(StackProfileBuilder &builder);
  void begin_with_program(StackProfileBuilder &builder, uint32_t range);

  const std::vector<CodeRange> &ranges_;
  uint32_t program_ = AddressSpace::nowhere;
  std::vector<MappingId> mappings_; // by number of the range; none if not in the profile yet
  MappingId kernel_ = none<MappingId>;
};

class MappedStacks {
public:
  // Both must outlive it. The locations are those of the space's ranges; many spaces may share
  // them.
  MappedStacks(const AddressSpace &space, MappedLocations &locations)
      : space_(space), locations_(locations) {}

  // Returns the stack of a chain. The chain is leaf first and not empty, callers are return address
  // - 1, and a truncated chain ends with a truncation_mark(). An address in the kernel becomes the
  // function "[kernel]".
  StackId stack_of(StackProfileBuilder &builder, std::span<const uint64_t> pcs);

private:
  const AddressSpace &space_;
  MappedLocations &locations_;
  CommonRoot<StackId> previous_;
};

} // namespace tally
