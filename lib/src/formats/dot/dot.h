#pragma once

#include "formats/formats.h"

namespace tally::dot {

// The graph shows functions with at least this share of the total, but no more than `most_nodes` of
// them, and calls with at least the second share.
inline constexpr double least_node = 0.005, least_call = 0.001;
inline constexpr size_t most_nodes = 100;

Result<Written> write(const CostProfile &profile, const WriteOptions &options);

} // namespace tally::dot
