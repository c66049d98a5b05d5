// The sum of many files' coverage.
#pragma once

#include <span>

#include <tally/coverage.h>

namespace tally {

// At least one, of one path. Halves are added to halves: one after another, many small ones would
// take the square of their number.
inline Result<FileCoverage> sum_of(std::span<const FileCoverage *const> files,
                                   Diagnostics &diagnostics) {
  if (files.size() == 1)
    return *files[0];
  TALLY_TRY(sum, sum_of(files.first(files.size() / 2), diagnostics));
  TALLY_TRY(more, sum_of(files.subspan(files.size() / 2), diagnostics));
  TALLY_CHECK(add_coverage(sum, more, MergePolicy::lenient, diagnostics));
  return sum;
}

} // namespace tally
