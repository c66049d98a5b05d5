// From chains of addresses, over what is mapped at the time, to the stacks of a profile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/stack_profile.h>

#include "model/address_space.h"
#include "model/shared_root.h"

namespace tally {

class MappedStacks {
public:
  explicit MappedStacks(const AddressSpace &space) : space_(space) {} // which outlives it
  // The same places as those of `other`, whose space the own one is a copy of.
  MappedStacks(const AddressSpace &space, const MappedStacks &other)
      : space_(space), mappings_(other.mappings_), kernel_(other.kernel_) {}
  MappedStacks(const MappedStacks &) = delete;
  MappedStacks &operator=(const MappedStacks &) = delete;

  // Leaf first, not empty; callers as return address - 1; a cut_mark() last where there are more.
  // An address of the kernel becomes the function "[kernel]".
  StackId stack_of(StackProfileBuilder &builder, std::span<const uint64_t> pcs);

  // range: of the space; AddressSpace::nowhere: of none.
  LocationId location_of(StackProfileBuilder &builder, uint32_t range, uint64_t pc);

private:
  MappingId mapping_of(StackProfileBuilder &builder, uint32_t range);
  MappingId kernel_mapping(StackProfileBuilder &builder);
  void begin_with_program(StackProfileBuilder &builder, uint32_t range);

  const AddressSpace &space_;
  std::vector<MappingId> mappings_; // of space_'s ranges, in this profile; none: not met yet
  MappingId kernel_ = none<MappingId>;

  SharedRoot<StackId> previous_;
};

} // namespace tally
