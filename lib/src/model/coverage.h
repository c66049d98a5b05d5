// Defines the reader's view of coverage: source files with their lines, functions and branches.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/result.h"

namespace tally {

// Returns how often something ran. Threads that count without atomic updates may leave a negative
// count, which shows only that it ran; for such a count the result is 1.
inline constexpr int64_t times_run(int64_t count) { return count < 0 ? 1 : count; }

struct BranchCoverage {
  int64_t count = 0;
  bool fall_through = false;
  bool throws = false; // taken if an exception leaves a call
};

// GCC 14's -fcondition-coverage of one decision: a bit for each term, set in `when_true` if the
// term decided the condition while the term was true, and in `when_false` if it did so while it was
// false.
struct ConditionCoverage {
  uint32_t terms = 0; // at most 64
  uint64_t when_true = 0, when_false = 0;

  // Return the number of outcomes that can be covered, and the number that were covered.
  uint32_t outcomes() const { return 2 * terms; }
  uint32_t covered() const {
    return static_cast<uint32_t>(std::popcount(when_true) + std::popcount(when_false));
  }
};

// Clang's MC/DC of one decision: which of its conditions were shown to decide the result alone.
// Each has a bit, and one outcome.
struct McdcCoverage {
  uint32_t terms = 0; // at most 64
  uint64_t covered = 0;
  uint64_t folded = 0; // constant conditions, which cannot be covered and do not count

  uint32_t conditions() const { return terms - static_cast<uint32_t>(std::popcount(folded)); }
  uint32_t conditions_covered() const { return static_cast<uint32_t>(std::popcount(covered)); }
};

struct LineCoverage {
  uint32_t line = 0;
  int64_t count = 0; // sum over all instances of its functions, in all objects
  // Half-open ranges of FileCoverage::branches, conditions and decisions.
  uint32_t first_branch = 0, last_branch = 0;
  uint32_t first_condition = 0, last_condition = 0;
  uint32_t first_decision = 0, last_decision = 0;
  // How many more times it may have run, because a thread was in a function of the line when the
  // counters were read. INT64_MAX if there is no bound. No coverage file format can represent this.
  int64_t uncertain = 0;
};

struct FunctionCoverage {
  std::string name;                      // mangled, unless demangle_names() was called
  uint32_t start_line = 0, end_line = 0; // 0 if unknown
  int64_t count = 0;                     // how often it was entered
  // Its counters contradict each other, so that its counts are not exact. No coverage file format
  // can represent this.
  bool inexact = false;
  int64_t uncertain = 0; // as for a line
};

// With Clang's source-based coverage: from this place on, up to the next segment, the source has
// this count.
struct SegmentCoverage {
  uint32_t line = 0, column = 0; // the first ones are 1; columns are bytes
  int64_t count = 0;
  bool has_count = false; // false where there is no code, or the preprocessor skips it
  bool is_entry = false;  // a region of code begins here
  bool is_gap = false;    // between regions: it has no code of its own
};

// The regions of the functions that begin in a file, as llvm-cov sums them up. Instantiations of
// one template count as one function, with the largest numbers of them. A region of a macro's body
// or of an included file counts in each function that has it.
struct RegionTotals {
  uint64_t regions = 0, regions_executed = 0;
  uint64_t instantiations = 0, instantiations_executed = 0;

  RegionTotals &operator+=(const RegionTotals &more) {
    regions += more.regions;
    regions_executed += more.regions_executed;
    instantiations += more.instantiations;
    instantiations_executed += more.instantiations_executed;
    return *this;
  }
  friend bool operator==(const RegionTotals &, const RegionTotals &) = default;
};

struct FileCoverage {
  FileCoverage();
  FileCoverage(const FileCoverage &);
  FileCoverage &operator=(const FileCoverage &);
  FileCoverage(FileCoverage &&) noexcept;
  FileCoverage &operator=(FileCoverage &&) noexcept;
  ~FileCoverage();

  std::string path;                          // absolute, unless a report has another path
  std::vector<LineCoverage> lines;           // sorted by line, unique
  std::vector<FunctionCoverage> functions;   // sorted by start line, then name; unique
  std::vector<BranchCoverage> branches;      // in the order of `lines`
  std::vector<ConditionCoverage> conditions; // in the order of `lines`
  std::vector<McdcCoverage> decisions;       // in the order of `lines`
  // Of source-based coverage. Lines that are excluded may still have segments, and their regions
  // count.
  std::vector<SegmentCoverage> segments; // sorted by place
  RegionTotals regions;

  std::span<const BranchCoverage> branches_of(const LineCoverage &line) const {
    return std::span(branches).subspan(line.first_branch, line.last_branch - line.first_branch);
  }
  std::span<const ConditionCoverage> conditions_of(const LineCoverage &line) const {
    return std::span(conditions)
        .subspan(line.first_condition, line.last_condition - line.first_condition);
  }
  std::span<const McdcCoverage> decisions_of(const LineCoverage &line) const {
    return std::span(decisions).subspan(line.first_decision,
                                        line.last_decision - line.first_decision);
  }
};

// The coverage that one test reached.
struct TestCoverage {
  std::string name;                // "" for counts that belong to no test
  std::vector<FileCoverage> files; // sorted by path, unique
};

struct Coverage {
  std::vector<FileCoverage> files; // sorted by path, unique
  // The coverage of each test, sorted by name; `files` is the sum of all tests. Empty if tests are
  // not distinguished.
  std::vector<TestCoverage> tests;
};

// Returns what ran between two readings of the counters of one program: `now` less `before`. Files,
// lines and functions are those of `now`. A difference whose terms are uncertain is uncertain.
// Decisions and segments are those of `now`: the difference of source-based coverage is made of its
// counters, before they are counted.
Coverage coverage_since(Coverage now, const Coverage &before);

// The numbers from which percentages are computed. A count other than 0 means executed.
struct CoverageTotals {
  uint64_t lines = 0, lines_executed = 0;
  uint64_t functions = 0, functions_executed = 0;
  uint64_t branches = 0, branches_taken = 0;
  uint64_t outcomes = 0, outcomes_covered = 0; // see ConditionCoverage
  uint64_t mcdc = 0, mcdc_covered = 0;         // the conditions of McdcCoverage
  RegionTotals source_based;

  CoverageTotals &operator+=(const CoverageTotals &more);
};
CoverageTotals totals_of(const FileCoverage &file);
CoverageTotals totals_of(const Coverage &coverage);

// Demangles the names of functions. Functions of one start line that then have the same name, such
// as both constructors of a class, become one with the sum of their counts. Fails with overflow if
// a sum exceeds 64 bits.
Result<void> demangle_names(Coverage &coverage);

// Merges the variants of constructors and destructors, which a compiler emits as several functions
// ("_ZN1AC1Ev" and "_ZN1AC2Ev", "_ZN1AD0Ev"). Each variant gets the name of the base object variant
// ("_ZN1AC2Ev"), and functions that then have the same name and start line become one, with the sum
// of their counts. Fails with overflow if a sum exceeds 64 bits.
Result<void> unite_variants(Coverage &coverage);

// Returns a message that names the functions which are inexact, and what may be the cause; nothing
// if there are none. calls_exec() returns whether the function calls exec(), if that is known.
std::optional<std::string> inexact_functions(
    const Coverage &coverage,
    const std::function<bool(const FileCoverage &, const FunctionCoverage &)> &calls_exec = {});

} // namespace tally
