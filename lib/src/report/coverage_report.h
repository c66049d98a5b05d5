// Formats coverage for people: for a terminal, and for the reports of a build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/coverage.h"
#include "report/report.h"
#include "support/result.h"

namespace tally {

// Returns a percentage, "83.3%", or "-" if `whole` is 0. The result is never 100.0% unless
// everything ran, and never 0.0% if something did.
std::string share_text(uint64_t part, uint64_t whole);

// A range of lines that did not run. It may contain lines without code, but no line that ran.
struct MissingRange {
  uint32_t first = 0, last = 0; // both are included
  uint32_t lines = 0;           // number of lines with code
};
std::vector<MissingRange> ranges_not_run(const FileCoverage &file);
// Returns the ranges as text, "3-7, 12". At most `most` ranges are named, followed by the number of
// the others, "3-7, 12, … 5 more"; 0 means all.
std::string missing_ranges(const FileCoverage &file, size_t most = 0);

// The order of files: by path; by rising percentage of lines, functions or branches (a file without
// any comes last); or by falling number of lines that did not run. Ties are ordered by path.
enum class FileOrder : uint8_t { file, lines, functions, branches, missed };
Result<FileOrder> file_order_of(std::string_view word); // else invalid_argument
// The words for the orders, in the order of the enumerators.
inline constexpr std::string_view file_order_words = "file|lines|functions|branches|missed";

// Returns a table with a row for each file: lines, functions and branches in percent, and as many
// of the lines that did not run as fit in the width. Rows of directories follow, sorted by path,
// with the sums of all files below them, and then the row TOTAL. TextOptions::limit does not apply
// to these sums. The first percentage of a row is that of its lines. Paths below `root` are shown
// relative to it; a path that is too wide loses its beginning.
//
// Directories are shown if they add information: as many levels as fit in about one screen. A
// directory is left out if it contains all files, or the same files as one of its subdirectories.
// If each directory has only one file, none is shown.
std::string to_text(const Coverage &coverage, std::string_view root,
                    const TextOptions &options = {}, FileOrder order = FileOrder::file);

// Returns a table with a row for each test: the number of lines that it ran, and how many of these
// lines no other test ran; "no data" for the tests in `without_data`, which is sorted. The test ""
// has the row "(no test)" if it ran any line.
std::string tests_to_text(const std::vector<TestCoverage> &tests,
                          const std::vector<std::string> &without_data,
                          const TextOptions &options = {});

// Returns Markdown for the summary of a build (GitHub's $GITHUB_STEP_SUMMARY, a comment): the
// totals, then the files, by falling number of lines that did not run. GitHub accepts 1 MiB, so
// rows beyond 1000000 bytes are left out, and a line states how many.
std::string to_markdown(const Coverage &coverage, std::string_view root);

// Returns GitHub's workflow commands, for a step to print: a ::notice with the totals, then a
// ::warning for each range of lines that did not run. GitHub shows ten warnings of a step, so the
// largest ranges come first, and at most `most` are written (0 means all); the notice states how
// many there are. `root` must be the repository's directory, because GitHub identifies files by
// their path in the repository.
std::string to_github(const Coverage &coverage, std::string_view root, size_t most = 10);

} // namespace tally
