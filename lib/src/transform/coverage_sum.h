// Adds up the coverage of many files.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "model/coverage.h"
#include "support/sort.h"
#include "transform/merge.h"

namespace tally {

// Returns the sum of at least one file, all with the same path. It adds halves recursively: adding
// many small files one after another would take time quadratic in their number.
inline Result<FileCoverage> sum_of(std::span<const FileCoverage *const> files,
                                   Diagnostics &diagnostics) {
  if (files.size() == 1)
    return *files[0];
  TALLY_TRY(sum, sum_of(files.first(files.size() / 2), diagnostics));
  TALLY_TRY(more, sum_of(files.subspan(files.size() / 2), diagnostics));
  TALLY_CHECK(add_coverage(sum, more, MergePolicy::lenient, diagnostics));
  return sum;
}

// Returns one file for each path, sorted by path.
inline Result<std::vector<FileCoverage>> sums_by_path(std::vector<const FileCoverage *> files,
                                                      Diagnostics &diagnostics) {
  std::vector<FileCoverage> sums;
  sort_stably(files, {},
              [](const FileCoverage *file) -> const std::string & { return file->path; });
  for (auto first = files.begin(); first != files.end();) {
    const auto last = std::find_if(
        first, files.end(), [&](const FileCoverage *file) { return file->path != (*first)->path; });
    TALLY_TRY(sum, sum_of(std::span(first, last), diagnostics));
    sums.push_back(std::move(sum));
    first = last;
  }
  return sums;
}

// Returns the coverage of files, of which several may have the same path.
inline Result<Coverage> coverage_of_files(std::span<const FileCoverage> files,
                                          Diagnostics &diagnostics) {
  std::vector<const FileCoverage *> all;
  for (const FileCoverage &file : files)
    all.push_back(&file);
  TALLY_TRY(sums, sums_by_path(std::move(all), diagnostics));
  Coverage out;
  out.files = std::move(sums);
  return out;
}

} // namespace tally
