// Converts chains of addresses to stacks of a profile, using the current mappings.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/stack_profile.h>

#include "stacks/address_space.h"
#include "stacks/common_root.h"

namespace tally {

class MappedStacks {
public:
  explicit MappedStacks(const AddressSpace &space) : space_(space) {} // `space` must outlive it
  // Starts with the mappings of `other`. `space` must be a copy of the space of `other`.
  MappedStacks(const AddressSpace &space, const MappedStacks &other)
      : space_(space), mappings_(other.mappings_), kernel_(other.kernel_) {}
  MappedStacks(const MappedStacks &) = delete;
  MappedStacks &operator=(const MappedStacks &) = delete;

  // Returns the stack of a chain. The chain is leaf first and not empty, callers are return address
  // - 1, and a truncated chain ends with a truncation_mark(). An address in the kernel becomes the
  // function "[kernel]".
  StackId stack_of(StackProfileBuilder &builder, std::span<const uint64_t> pcs);

  // Returns the location of `pc`. `range` is a range of the space, or AddressSpace::nowhere.
  LocationId location_of(StackProfileBuilder &builder, uint32_t range, uint64_t pc);

private:
  MappingId mapping_of(StackProfileBuilder &builder, uint32_t range);
  MappingId kernel_mapping(StackProfileBuilder &builder);
  void begin_with_program(StackProfileBuilder &builder, uint32_t range);

  const AddressSpace &space_;
  std::vector<MappingId> mappings_; // by number of space_'s ranges; none if not in the profile yet
  MappingId kernel_ = none<MappingId>;

  CommonRoot<StackId> previous_;
};

} // namespace tally
