// Determines the order in which a profile's locations and samples are written.
//
// In this order, neighbours are similar, so the file compresses well. For example, a profile of a
// compiler is a sixth smaller than in order of first use. A profile that was read back is written
// in the same order again.
#pragma once

#include <cstddef>
#include <vector>

#include "model/stack_profile.h"

namespace tally::pprof {

struct Order {
  // The locations in samples, sorted by address, then mapping, then names.
  std::vector<LocationId> locations;
  // Indexes of samples, sorted by their stacks from the root. Samples without a stack come first,
  // and samples with equal stacks keep their order.
  std::vector<size_t> samples;
};

Order order_of(const StackProfile &profile);

} // namespace tally::pprof
