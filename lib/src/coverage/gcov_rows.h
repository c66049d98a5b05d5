// Rows of the tables of lines that are counted.
#pragma once

#include <cstdint>
#include <span>

#include <tally/gcov_counts.h>

namespace tally {

// A line of a table; as long as a function is counted, what one of its blocks adds to it.
struct GcovRow {
  uint32_t table = 0, line = 0;
  int64_t raw = 0;       // sum over its blocks
  int64_t by_blocks = 0; // as LineCycles counts them
  // What GcovLine::at_least is of each of the two.
  int64_t raw_at_least = 0, at_least = 0;
  bool unexecuted = false, has_blocks = false;
  uint32_t first_branch = 0, last_branch = 0;
  uint32_t details = 0; // of the counts'
  uint64_t key() const { return uint64_t{table} << 32 | line; }
};

// At least one, of one line and of several functions: what they have one after another. `fits`
// becomes false where a count leaves 64 bits.
GcovRow joined(std::span<const GcovRow> rows, GcovCounts &counts, bool &fits);

} // namespace tally
