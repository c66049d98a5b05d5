// The reader's view of coverage: source files with their lines, functions and branches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/export.h>
#include <tally/result.h>

namespace tally {

struct BranchCoverage {
  int64_t count = 0;
  bool fall_through = false;
  bool throws = false; // taken when an exception leaves a call
};

struct LineCoverage {
  uint32_t line = 0;
  int64_t count = 0;                          // of all instances of its functions, in all objects
  uint32_t first_branch = 0, last_branch = 0; // half-open, into the file's branches
};

struct FunctionCoverage {
  std::string name; // of the assembler
  uint32_t start_line = 0, end_line = 0;
  int64_t count = 0; // entered
};

struct FileCoverage {
  std::string path;
  std::vector<LineCoverage> lines;         // by line, each once
  std::vector<FunctionCoverage> functions; // by line, then name, each once
  std::vector<BranchCoverage> branches;    // by line

  std::span<const BranchCoverage> branches_of(const LineCoverage &line) const {
    return std::span(branches).subspan(line.first_branch, line.last_branch - line.first_branch);
  }
};

struct Coverage {
  std::vector<FileCoverage> files; // by path, each once
};

// What is counted in percent.
struct CoverageTotals {
  uint64_t lines = 0, lines_executed = 0;
  uint64_t functions = 0, functions_executed = 0;
  uint64_t branches = 0, branches_taken = 0;

  CoverageTotals &operator+=(const CoverageTotals &more);
};
TALLY_API CoverageTotals totals_of(const FileCoverage &file);
TALLY_API CoverageTotals totals_of(const Coverage &coverage);

// Lines, and the functions of one name and line, add up; branches of a line by their place, for
// instances of a template have the same ones. Where one has more of them (it was compiled in
// another way), those are added behind. A count that leaves 64 bits is an error.
TALLY_API Result<void> add_coverage(FileCoverage &to, const FileCoverage &more);
TALLY_API Result<void> add_coverage(Coverage &to, Coverage more);

} // namespace tally
