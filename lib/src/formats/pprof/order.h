// The order in which a profile's locations and samples are written.
//
// Neighbours have most in common then, so that packing finds it: the file of a compiler's stacks is
// a sixth smaller than in order of first use. What was read back once is written in the same order.
#pragma once

#include <cstddef>
#include <vector>

#include <tally/stack_profile.h>

namespace tally::pprof {

struct Order {
  std::vector<LocationId>
      locations; // those of samples, by address; equal ones by mapping and names
  // Rows, by their stacks from the root on; without a stack first; equal ones as they were.
  std::vector<size_t> samples;
};

Order order_of(const StackProfile &profile);

} // namespace tally::pprof
