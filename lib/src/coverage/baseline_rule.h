// Decides whether coverage has fallen below a baseline, and what the next baseline is. The rule is
// stated for users in lib/cli/README.md, "A baseline".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coverage/path_filter.h"
#include "formats/baseline/baseline.h"
#include "model/coverage.h"

namespace tally {

// Returns whether `part` is at least `least` percent of `whole`. Compares in millionths of a
// percent, because a value such as 16.1 is not exact in binary.
bool reaches(uint64_t part, uint64_t whole, double least);

// Something whose coverage is too small.
struct CoverageLoss {
  enum class Of : uint8_t { file, new_file, directory, total };
  Of of = Of::file;
  bool branches = false; // of branches, otherwise of lines
  std::string path; // as in the baseline; of a directory with a '/' at its end; empty for total
  baseline::Share before, now;        // a new file has no `before`
  const FileCoverage *file = nullptr; // of a file
};

struct BaselineComparison {
  std::vector<CoverageLoss> losses; // files by path, directories by path, the total
  // Files of the baseline that fell to 0 lines, or whose source exists but was not counted. If
  // there are any, the run was partial.
  std::vector<std::string> without_counts; // sorted
  bool misses_branches = false;            // only the baseline has branches, which are not compared
  size_t selected = 0;                     // files of the baseline that the filter selects
  size_t compared = 0;                     // files that are in the baseline and were counted
  baseline::Baseline next;                 // the baseline for the next run, if there are no losses
  size_t raised = 0, changed = 0, added = 0, removed = 0; // the records that differ in `next`
  size_t gone_but_kept = 0; // records that are not removed because the run was partial
};

struct BaselineOptions {
  std::string root;                     // real and absolute; paths below it are relative in records
  const PathFilter *filter = nullptr;   // selected what was counted; other records are kept
  std::optional<double> least_of_new{}; // the percentage of lines that new files need
  // Returns whether a source exists, given its path in a record.
  std::function<bool(const std::string &path)> exists;
  bool is_partial = false; // not all was counted, so that absent records are kept
};

// Compares `coverage`, whose files must outlive the result, with `before`.
BaselineComparison compare_with_baseline(const Coverage &coverage, const baseline::Baseline &before,
                                         const BaselineOptions &options);

// Returns the first baseline for this coverage.
baseline::Baseline baseline_of(const Coverage &coverage, std::string_view root);

} // namespace tally
