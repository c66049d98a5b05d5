// Coverage of each test: `tally coverage --harvest` and `--per-test`.
#pragma once

#include <string>
#include <vector>

#include <tally/report.h>

#include "coverage_collect/collect_coverage.h"

namespace tally::cli {

// Appends the counters below FOLDER to FOLDER.counters, and removes them and the directories that
// are empty then. Other files stay. A directory that does not exist is the same as an empty one.
Result<void> harvest(const std::string &folder);

// Reads the runs of a directory with tests.json and harvested counters.
Result<std::vector<TestRun>> runs_of_tests(const std::string &folder);

Result<void> print_table_of_tests(const CollectedCoverage &collected, const TextOptions &options);

} // namespace tally::cli
