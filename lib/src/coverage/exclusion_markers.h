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
  std::vector<LineRange> lines;          // excluded with all that they have
  std::vector<LineRange> branches;       // excluded: their branches and conditions
  std::vector<LineRange> throw_branches; // excluded: their branches that exceptions take
  std::vector<uint32_t> functions; // excluded: functions that begin in these lines, to their end
  bool empty() const {
    return lines.empty() && branches.empty() && throw_branches.empty() && functions.empty();
  }
};

// Finds the markers of gcovr (its manual, section "Exclusion markers") and lcov (geninfo(1)). A
// marker is GCOVR_EXCL_, GCOV_EXCL_ or LCOV_EXCL_, followed by LINE, START or STOP; by these after
// BR_ or EXCEPTION_BR_; or by FUNCTION. The line of a START is excluded, that of a STOP is not. A
// START without a STOP excludes the rest of the file. Adds a warning with `path` for a START or
// STOP without a partner, for nested ones, and for an unknown marker.
ExcludedLines find_exclusions(std::string_view source, std::string_view path,
                              Diagnostics &diagnostics);

// Removes from `file` what is excluded, including functions that begin in excluded lines. A
// function whose end line is unknown ends where the next one begins.
void exclude(FileCoverage &file, ExcludedLines excluded);

} // namespace tally
