// Turns the regions of a source into counts of its lines.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <tally/coverage.h>

#include "coverage/llvm_counts.h"

namespace tally::llvm {

// From this place on, until the next segment, the source has this count.
struct Segment {
  SourcePlace start;
  uint64_t count = 0;
  bool has_count = false; // false if no region that runs is here
  bool is_entry = false;  // a region begins here
  bool is_gap = false;    // between regions: it has no code of its own
};

// Returns the segments of a source, given all its regions except branches and decisions, in any
// order. Regions with the same place are instantiations of one source, and their counts add up.
// Returns nothing if thousands of regions lie one within the other, which no compiler writes.
std::optional<std::vector<Segment>> segments_of(std::vector<CountedRegion> regions);

// Returns the lines that have a count: the largest of the regions that begin in a line, and of the
// one that continues from earlier lines.
std::vector<LineCoverage> lines_of(const std::vector<Segment> &segments);

} // namespace tally::llvm
