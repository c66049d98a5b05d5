// Turns the regions of a source into counts of its lines.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/llvm/coverage_mapping.h"
#include "model/coverage.h"

namespace tally::llvm {

// A region of a source that is not a branch or a decision, and its count.
struct Stretch {
  SourcePlace start, end;
  MappingRegion::Kind kind = MappingRegion::Kind::code;
  int64_t count = 0;
  int64_t most = 0; // the largest that the count may be
};

// Returns the segments of a source, given all its stretches in any order. Those with the same place
// are instantiations of one source, and their counts add up. Returns nothing if thousands lie one
// within the other, which no compiler writes.
std::optional<std::vector<SegmentCoverage>> segments_of(std::vector<Stretch> stretches);

// Returns the lines that have a count: the largest of the regions that begin in a line, and of the
// one that continues from earlier lines.
std::vector<LineCoverage> lines_of(const std::vector<SegmentCoverage> &segments);

} // namespace tally::llvm
