// The reader's view of coverage: source files with their lines, functions and branches.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/export.h>
#include <tally/result.h>

namespace tally {

// How often something ran, by a count that may be below 0: such a count, which threads without
// atomic updates leave, tells only that it ran.
inline constexpr int64_t times_run(int64_t count) { return count < 0 ? 1 : count; }

struct BranchCoverage {
  int64_t count = 0;
  bool fall_through = false;
  bool throws = false; // taken when an exception leaves a call
};

// GCC 14's -fcondition-coverage: which terms of a decision decided it, a bit for each.
struct ConditionCoverage {
  uint32_t terms = 0; // at most 64
  uint64_t when_true = 0, when_false = 0;

  uint32_t outcomes() const { return 2 * terms; }
  uint32_t covered() const {
    return static_cast<uint32_t>(std::popcount(when_true) + std::popcount(when_false));
  }
};

struct LineCoverage {
  uint32_t line = 0;
  int64_t count = 0; // of all instances of its functions, in all objects
  // Half-open, into the file's branches and conditions.
  uint32_t first_branch = 0, last_branch = 0;
  uint32_t first_condition = 0, last_condition = 0;
};

struct FunctionCoverage {
  std::string name; // of the assembler
  uint32_t start_line = 0, end_line = 0;
  int64_t count = 0; // entered
  // Some of its counters contradict each other, so that its counts are not exact. No format of
  // coverage holds this.
  bool inexact = false;
};

struct FileCoverage {
  std::string path;                          // absolute, unless a report told it otherwise
  std::vector<LineCoverage> lines;           // by line, each once
  std::vector<FunctionCoverage> functions;   // by line, then name, each once
  std::vector<BranchCoverage> branches;      // by line
  std::vector<ConditionCoverage> conditions; // by line

  std::span<const BranchCoverage> branches_of(const LineCoverage &line) const {
    return std::span(branches).subspan(line.first_branch, line.last_branch - line.first_branch);
  }
  std::span<const ConditionCoverage> conditions_of(const LineCoverage &line) const {
    return std::span(conditions)
        .subspan(line.first_condition, line.last_condition - line.first_condition);
  }
};

// What one test reached.
struct TestCoverage {
  std::string name;
  std::vector<FileCoverage> files; // by path, each once
};

struct Coverage {
  std::vector<FileCoverage> files; // by path, each once
  // Where tests were told apart: by name, and together they are `files`.
  std::vector<TestCoverage> tests;
};

// What is counted in percent.
struct CoverageTotals {
  uint64_t lines = 0, lines_executed = 0;
  uint64_t functions = 0, functions_executed = 0;
  uint64_t branches = 0, branches_taken = 0;
  uint64_t outcomes = 0, outcomes_covered = 0; // of conditions

  CoverageTotals &operator+=(const CoverageTotals &more);
};
TALLY_API CoverageTotals totals_of(const FileCoverage &file);
TALLY_API CoverageTotals totals_of(const Coverage &coverage);

// Objects, and the files of reports, may disagree about a source: a line has other branches, a
// function another beginning. Strict: that is an error (invalid_input). Lenient: a finding.
enum class MergePolicy : uint8_t { strict, lenient };

// Lines, and the functions of one name and line, add up; branches of a line by their place, for
// instances of a template have the same ones. Where one has more of them (it was compiled in
// another way), those are put behind; a condition is united by its terms. The order in which
// things are added does not matter. A count that leaves 64 bits is an error.
TALLY_API Result<void> add_coverage(FileCoverage &to, const FileCoverage &more, MergePolicy policy,
                                    Diagnostics &diagnostics);
TALLY_API Result<void> add_coverage(Coverage &to, Coverage more, MergePolicy policy,
                                    Diagnostics &diagnostics);

// Names of functions as their source has them. Those that are the same then (both constructors of a
// class) are one; its counts are their sum.
TALLY_API Result<void> demangle_names(Coverage &coverage);

// A constructor or destructor of the source may be several functions of the object ("_ZN1AC1Ev" and
// "_ZN1AC2Ev", "_ZN1AD0Ev"). Each gets the name of the variant for base objects ("_ZN1AC2Ev"), and
// those that have one name and line then are one; its counts are their sum.
TALLY_API Result<void> unite_variants(Coverage &coverage);

// A finding that names the functions which are inexact. Empty: there are none.
TALLY_API std::optional<std::string> inexact_functions(const Coverage &coverage);

// add_coverage() for many: each takes time by its own size, not by that of the sum.
class TALLY_API CoverageSum {
public:
  CoverageSum(MergePolicy policy, Diagnostics &diagnostics)
      : policy_(policy), diagnostics_(diagnostics) {}
  // After an error the sum is good for nothing.
  Result<void> add(Coverage more);
  Coverage finish(); // it is empty afterwards

private:
  using Files = std::unordered_map<std::string, FileCoverage>; // by path
  Result<void> add_files(Files &to, std::vector<FileCoverage> more);
  static std::vector<FileCoverage> sorted(Files files);

  MergePolicy policy_;
  Diagnostics &diagnostics_;
  Files files_;
  std::map<std::string, Files> tests_;
};

} // namespace tally
