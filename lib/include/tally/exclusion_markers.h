// Comments in sources that leave lines, or their branches, out of coverage.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tally/coverage.h>
#include <tally/diagnostics.h>
#include <tally/export.h>

namespace tally {

struct LineRange {
  uint32_t first = 0, last = 0; // both are in it
  friend bool operator==(const LineRange &, const LineRange &) = default;
};

struct ExcludedLines {
  // By line, apart from each other.
  std::vector<LineRange> lines;
  std::vector<LineRange> branches;       // whose branches and conditions do not count
  std::vector<LineRange> throw_branches; // of whose branches those that exceptions take do not
  std::vector<uint32_t> functions;       // what begins in these lines does not count, to its end
  bool empty() const {
    return lines.empty() && branches.empty() && throw_branches.empty() && functions.empty();
  }
};

// The words of gcovr and lcov (its manual, section "Exclusion markers"; geninfo(1)): GCOVR_EXCL_,
// GCOV_EXCL_ or LCOV_EXCL_, then LINE, START or STOP; BR_LINE, BR_START or BR_STOP; EXCEPTION_BR_…
// likewise; or FUNCTION. The line of a START is excluded, that of a STOP is not. What has no
// partner is found: a START without a STOP holds to the end of the file.
TALLY_API ExcludedLines find_exclusions(std::string_view source, std::string_view path,
                                        Diagnostics &diagnostics);

// Takes them out: lines with all that is theirs, and functions that begin in them.
TALLY_API void exclude(FileCoverage &file, ExcludedLines excluded);

} // namespace tally
