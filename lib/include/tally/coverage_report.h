// Coverage as people read it: on a terminal, and where a build tells of itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage.h>
#include <tally/report.h>
#include <tally/result.h>

namespace tally {

// "83.3%"; "-" of nothing. It never says 100.0% where something is missing, nor 0.0% where
// something ran.
TALLY_API std::string share_text(uint64_t part, uint64_t whole);

// Lines that did not run, with no line that ran among them; lines without code part nothing.
struct MissingRange {
  uint32_t first = 0, last = 0;
  uint32_t lines = 0; // of code
};
TALLY_API std::vector<MissingRange> ranges_not_run(const FileCoverage &file);
// "3-7, 12"; no more than `most` of them and how many more there are: "3-7, 12, … 5 more". 0: all.
TALLY_API std::string missing_ranges(const FileCoverage &file, size_t most = 0);

// By path, or the files with the smallest percentage first (of files with none at the end), or
// those with most lines that did not run. Equal ones by path.
enum class FileOrder : uint8_t { file, lines, functions, branches, missed };
TALLY_API Result<FileOrder> file_order_of(std::string_view word); // by the words above
TALLY_API std::string file_order_words();                         // "file|lines|…"

// A row for each file: lines, functions and branches in percent, and which lines did not run, as
// many as the width holds; then rows of folders, by path, with the sums of all files below them;
// then the totals. No limit leaves these sums out. Paths are shown relative to `root`, where they
// lie below it; one that is too wide loses its beginning. The last row is TOTAL; the first
// percentage of a row is that of its lines.
//
// Folders are shown where they tell more than the other rows do: as many levels of them as about a
// screen holds, none where each has one file, and none that has all files or the same files as a
// folder in it.
TALLY_API std::string to_text(const Coverage &coverage, std::string_view root,
                              const TextOptions &options = {}, FileOrder order = FileOrder::file);

// A row for each test: the lines that ran by it, and how many of them by no other test; "no data"
// for those of `without_data`, which is sorted. What ran by no test is a row if there is any.
TALLY_API std::string tests_to_text(const std::vector<TestCoverage> &tests,
                                    const std::vector<std::string> &without_data,
                                    const TextOptions &options = {});

// For the summary of a build (GitHub's $GITHUB_STEP_SUMMARY, a comment): the totals, then the
// files, those with most lines that did not run first. GitHub takes 1 MiB: rows that would exceed
// it are left out, and it says how many.
TALLY_API std::string to_markdown(const Coverage &coverage, std::string_view root);

// GitHub's workflow commands, to be printed by a step: a ::notice with the totals, then a ::warning
// for each range of lines that did not run. GitHub shows ten warnings of a step, so the largest
// ranges come first, and no more than `most` are written (0: all); the notice says how many there
// are. `root` must be the repository's folder: GitHub knows files by their path in it.
TALLY_API std::string to_github(const Coverage &coverage, std::string_view root, size_t most = 10);

} // namespace tally
