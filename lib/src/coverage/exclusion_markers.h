// Finds comments in sources that exclude lines, or their branches, from coverage.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/coverage.h"
#include "support/diagnostics.h"
#include "support/pattern.h"
#include "support/result.h"

namespace tally {

struct LineRange {
  uint32_t first = 0, last = 0; // both are included
  friend bool operator==(const LineRange &, const LineRange &) = default;
};

// "GCOVR_EXCL_BR_WITHOUT_HIT: 2/6": of the six branches of the line, the two are not counted that
// were not taken.
struct BranchesWithoutHit {
  uint32_t line = 0, without = 0, all = 0;
  friend bool operator==(const BranchesWithoutHit &, const BranchesWithoutHit &) = default;
};

struct BranchPosition {
  uint32_t line = 0, position = 0; // among the branches of the line, from 0 on
  friend auto operator<=>(const BranchPosition &, const BranchPosition &) = default;
};

struct ExcludedLines {
  // Sorted and disjoint.
  std::vector<LineRange> lines;          // lines that are excluded completely
  std::vector<LineRange> branches;       // lines whose branches and conditions are excluded
  std::vector<LineRange> throw_branches; // lines whose exception branches are excluded
  std::vector<uint32_t> functions;       // functions that begin in these lines are excluded
  std::vector<BranchPosition> positions; // sorted; of single branches that are excluded
  // The next two depend on what ran, and have no effect before decide_by_counts().
  std::vector<LineRange> unreachable; // lines that are excluded if they did not run
  std::vector<BranchesWithoutHit> without_hit;
  bool empty() const {
    return lines.empty() && branches.empty() && throw_branches.empty() && functions.empty() &&
           positions.empty() && unreachable.empty() && without_hit.empty();
  }
};

// Finds the markers that gcovr's manual (section "Exclusion markers") and geninfo(1) describe. A
// marker is GCOVR_EXCL_, GCOV_EXCL_ or LCOV_EXCL_, followed by a keyword: LINE, START or STOP,
// optionally after BR_ or EXCEPTION_BR_, or FUNCTION, or BR_WITHOUT_HIT with two numbers; or it is
// LCOV_UNREACHABLE_, followed by LINE, START or STOP. gcovr's BR_SOURCE is not supported, because
// files of coverage do not say where a branch leads. The line of a START is excluded, the line of
// a STOP is not. A START without a STOP excludes the rest of the file. Adds a warning with `path`
// for a START or STOP without a partner, for nested ranges, and for an unknown marker.
ExcludedLines find_exclusions(std::string_view source, std::string_view path,
                              Diagnostics &diagnostics);

// Adds the lines of the source that match one of the patterns to `excluded`, as if they had a
// marker. Fails with limit, and a message alone, if a search exceeds PCRE2's limits.
Result<void> exclude_lines(std::string_view source, std::span<const Pattern> patterns,
                           ExcludedLines &excluded);

// Replaces what depends on what ran by the lines and branches that are excluded. Adds a warning for
// each unreachable line that ran, and for numbers of branches that are not those of the line.
void decide_by_counts(const FileCoverage &file, ExcludedLines &excluded, Diagnostics &diagnostics);

// Removes from `file` what is excluded, including functions that begin in excluded lines. A
// function whose end line is unknown ends where the next one begins.
void exclude(FileCoverage &file, ExcludedLines excluded);

} // namespace tally
