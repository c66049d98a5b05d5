// Coverage as people read it.
#pragma once

#include <string>
#include <string_view>

#include <tally/coverage.h>
#include <tally/report.h>

namespace tally {

// A row for each file: lines, functions and branches in percent, and which lines did not run. Paths
// are shown relative to `root`, where they lie below it.
TALLY_API std::string to_text(const Coverage &coverage, std::string_view root,
                              const TextOptions &options = {});
// "3-7, 12": lines that did not run; lines without code between them part nothing.
TALLY_API std::string missing_ranges(const FileCoverage &file);

} // namespace tally
