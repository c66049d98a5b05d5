// Finds comments in sources that exclude lines, or their branches, from coverage.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tally/coverage.h>
#include <tally/diagnostics.h>

namespace tally {

struct LineRange {
  uint32_t first = 0, last = 0; // both are included
  friend bool operator==(const LineRange &, const LineRange &) = default;
};

struct ExcludedLines {
  // Sorted and disjoint.
  std::vector<LineRange> lines;          // lines that are excluded completely
  std::vector<LineRange> branches;       // lines whose branches and conditions are excluded
  std::vector<LineRange> throw_branches; // lines whose exception branches are excluded
  std::vector<uint32_t> functions;       // functions that begin in these lines are excluded
  bool empty() const {
    return lines.empty() && branches.empty() && throw_branches.empty() && functions.empty();
  }
};

// Finds the markers that gcovr's manual (section "Exclusion markers") and geninfo(1) describe. A
// marker is GCOVR_EXCL_, GCOV_EXCL_ or LCOV_EXCL_, followed by a keyword: LINE, START or STOP,
// optionally after BR_ or EXCEPTION_BR_, or FUNCTION. The line of a START is excluded, the line of
// a STOP is not. A START without a STOP excludes the rest of the file. Adds a warning with `path`
// for a START or STOP without a partner, for nested ranges, and for an unknown marker.
ExcludedLines find_exclusions(std::string_view source, std::string_view path,
                              Diagnostics &diagnostics);

// Removes from `file` what is excluded, including functions that begin in excluded lines. A
// function whose end line is unknown ends where the next one begins.
void exclude(FileCoverage &file, ExcludedLines excluded);

} // namespace tally
