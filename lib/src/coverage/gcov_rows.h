// Defines the rows of the tables in which lines are counted.
#pragma once

#include <cstdint>
#include <span>

#include "coverage/gcov_counts.h"

namespace tally {

// The part of a line's counts that comes from one function.
struct GcovRow {
  uint32_t table = 0, line = 0;
  int64_t raw = 0;       // sum over its blocks
  int64_t by_blocks = 0; // the count by LineCycles
  // The values of GcovLine::at_least that belong to raw and by_blocks.
  int64_t raw_at_least = 0, at_least = 0;
  int64_t uncertain = 0; // GcovLine::uncertain
  bool unexecuted = false, has_blocks = false;
  uint32_t first_branch = 0, last_branch = 0;
  uint32_t details = 0; // index in GcovCounts::details
  uint64_t key() const { return uint64_t{table} << 32 | line; }
};

// Returns the sum of `rows`, which must not be empty. They belong to one line in different
// functions. The branches and details of the rows are concatenated in the columns of `counts`. Sets
// `fits` to false if a count exceeds 64 bits.
GcovRow joined(std::span<const GcovRow> rows, GcovCounts &counts, bool &fits);

} // namespace tally
