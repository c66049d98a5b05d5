// Coverage of each test: `tally coverage --harvest` and `--per-test`.
#pragma once

#include <string>
#include <vector>

#include "coverage_collect/collect_coverage.h"
#include "report/report.h"

namespace tally::cli {

// Appends the counters below FOLDER to FOLDER.counters, and removes them and the directories that
// are empty then. Other files stay. A directory that does not exist is the same as an empty one.
Result<void> harvest(const std::string &folder);

// Reads the runs of a directory with tests.json and harvested counters.
Result<std::vector<TestRun>> runs_of_tests(const std::string &folder);

// Writes which tests reached each function, as JSON: {"tests":["…"],"files":{"/a.c":{"tests":[0],
// "functions":[{"name":"f","first":1,"last":9,"tests":[0]}]}}}. Tests are numbered from 0, and
// "last" is 0 if it is not known.
Result<void> write_tests_by_function(const Coverage &coverage, const std::string &path);

Result<void> print_table_of_tests(const CollectedCoverage &collected, const TextOptions &options);

// Prints the tests that reach no line that others do not reach. Of those without data, nothing is
// known. An incomplete one of `runs` may reach more than is known.
Result<void> print_redundant_tests(const CollectedCoverage &collected,
                                   const std::vector<TestRun> &runs);

} // namespace tally::cli
