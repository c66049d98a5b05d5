// Tests told apart: `tally coverage --harvest` and `--per-test`.
#pragma once

#include <string>
#include <vector>

#include <tally/collect_coverage.h>
#include <tally/report.h>

namespace tally::cli {

// The counters below FOLDER go to FOLDER.counters, to those that were harvested before; what is
// empty then is removed, and what is no counters stays. A folder that is not there has none.
Result<void> harvest(const std::string &folder);

// Of a folder with tests.json and harvested counters.
Result<std::vector<TestRun>> runs_of_tests(const std::string &folder);

Result<void> print_table_of_tests(const CollectedCoverage &collected, const TextOptions &options);

} // namespace tally::cli
