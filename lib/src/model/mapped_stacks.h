// From chains of addresses, over what is mapped at the time, to the stacks of a profile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/stack_profile.h>

#include "model/address_space.h"

namespace tally {

class MappedStacks {
public:
  explicit MappedStacks(const AddressSpace &space) : space_(space) {} // which outlives it
  // The same places as those of `other`, whose space the own one is a copy of.
  MappedStacks(const AddressSpace &space, const MappedStacks &other)
      : space_(space), mappings_(other.mappings_) {}
  MappedStacks(const MappedStacks &) = delete;
  MappedStacks &operator=(const MappedStacks &) = delete;

  // Leaf first, not empty; callers as return address - 1; a cut_mark() last where there are more.
  StackId stack_of(StackProfileBuilder &builder, std::span<const uint64_t> pcs);

  // range: of the space; AddressSpace::nowhere: of none.
  LocationId location_of(StackProfileBuilder &builder, uint32_t range, uint64_t pc);

private:
  MappingId mapping_of(StackProfileBuilder &builder, uint32_t range);

  const AddressSpace &space_;
  std::vector<MappingId> mappings_; // of space_'s ranges, in this profile; none: not met yet

  // The stack before, outermost first: the next one mostly begins alike.
  std::vector<uint64_t> previous_pcs_;
  std::vector<StackId> previous_stacks_;
  uint64_t previous_generation_ = 0;
};

} // namespace tally
