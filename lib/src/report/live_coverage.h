// Tables of coverage, also of a stopped program, whose counts may be uncertain; coverage as JSON.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/coverage.h"
#include "report/coverage_report.h"
#include "report/report.h"
#include "support/result.h"

namespace tally {

// What a row is.
enum class CoverageBy : uint8_t { file, function, line, object };

// Returns "7", "7?" for 6 or 7, and ">=7" if there are more than two possible counts.
std::string count_text(int64_t count, int64_t uncertain);

// Returns a table of what ran, with the largest counts first: of functions, with the numbers of
// their calls and of their lines that ran, or of lines. Paths below `root` are shown relative to
// it.
std::string functions_to_text(const Coverage &coverage, std::string_view root,
                              const TextOptions &options);
std::string lines_to_text(const Coverage &coverage, std::string_view root,
                          const TextOptions &options);
// Return the same as JSON: {"functions":[{"name","file","line","calls":C,"lines","lines_run"}]},
// {"lines":[{"file","line","count":C}]}, and for whole files {"files":[{"file","lines",
// "lines_run","functions","functions_run"}]}. C is {"count":N,"at_least":true|false,
// "exact":true|false}.
std::string functions_to_json(const Coverage &coverage, uint32_t limit);
std::string lines_to_json(const Coverage &coverage, uint32_t limit);
std::string files_to_json(const Coverage &coverage, uint32_t limit);

// Returns all of it as one object, of rows as above, with functions and lines that did not run:
// {"root","totals":{"lines","lines_run",…},"files","functions","lines"}. The totals also have
// "conditions", "mcdc", "regions" and "instantiations", where there are any, and how many of them
// are "…_covered". The rows are those of the first `limit` files, 0 for all.
std::string to_json(const Coverage &coverage, std::string_view root, FileOrder order,
                    uint32_t limit);

// An object file that was compiled with --coverage.
struct ObjectCoverage {
  std::string notes;  // the path of its .gcno file
  std::string module; // the path of the program or library that contains it
  CoverageTotals totals;
};
// Paths of notes below `root` are shown relative to it, and of modules only the names.
std::string objects_to_text(std::span<const ObjectCoverage> objects, std::string_view root,
                            const TextOptions &options);
// Returns {"objects":[{"notes","module","lines","lines_run","functions","functions_run",
// "branches","branches_taken"}]}.
std::string objects_to_json(std::span<const ObjectCoverage> objects, uint32_t limit);

// The lines to show, and where threads are: pairs of a path and a line.
struct CoveredSource {
  const FileCoverage *file = nullptr;
  uint32_t first = 1, last = UINT32_MAX; // both are included
  std::string older{};                   // an object that is older than the source; else empty
};
using StoppedLines = std::set<std::pair<std::string, uint32_t>>;

// Finds FUNCTION, FILE or FILE:LINE. A function is named by its full name, without parameters, or
// by its last components; a file by its path or the last components of it. Fails with not_found, or
// with invalid_argument if several match.
Result<CoveredSource> covered_source(const Coverage &coverage, std::string_view what);

// Returns the source text with the count of each line; "=>" marks lines in `stopped`. If the source
// cannot be read, only the lines with counts are shown, and the first line of the text says why.
std::string source_to_text(const CoveredSource &source, const StoppedLines &stopped,
                           std::string_view root, const TextOptions &options);
// Returns {"file","lines":[{"line","count","stopped"}],"older"}; `older` only if an object is
// older.
std::string source_to_json(const CoveredSource &source, const StoppedLines &stopped);

} // namespace tally
