// Judges whether costs grew by more than a limit, from profiles before and after a change.
//
// Costs are exact if the program's events were counted one by one, as Valgrind counts Ir. All
// others are sampled or timed, and differ from run to run. A growth of these counts only if it is
// significant: if chance alone would cause it in fewer than one of 1000 comparisons of unchanged
// programs, all functions of a comparison together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "report/report.h"
#include "support/result.h"

namespace tally {

// One side of the comparison.
struct GateSide {
  std::string name; // of the file, for messages
  FlatTable all;    // by function
  // The same for each run, if the profile consists of several whole runs of the program: if each of
  // its parts ends with the end of the process. Otherwise empty: the profile counts as one run.
  std::vector<FlatTable> runs{};
  // What ended each run: "exited, status 0", "ended by SIGKILL". Empty if it is not known.
  std::vector<std::string> ends{};
  std::string last_trigger{}; // what ended the last part, or all of it: "SIGTERM", "breakpoint 1"
  // The cost that one sample stands for; 0 if unknown. If samples differ in their cost, it is the
  // one that gives the sum of equal samples the same variance.
  double sample = 0;
  // The number of periodic clocks that ticked, one in each thread; 0 for other samples. To the sum
  // of its ticks, a clock adds less than one by chance.
  size_t clocks = 0;
  // The time that one tick stands for; 0 if it is unknown, or if the costs are not ticks.
  uint64_t tick_ns = 0;
  bool is_exact = false;

  size_t run_count() const { return runs.empty() ? 1 : runs.size(); }
};
Result<GateSide> gate_side(const StackProfile &profile, std::string name);
Result<GateSide> gate_side(const CostProfile &profile, std::string name);

struct GateLimit {
  double percent = 0;
  SortBy cost = SortBy::self;           // of functions
  std::vector<std::string> functions{}; // PCRE2 patterns; empty for the total and all functions
};

enum class GateVerdict : uint8_t { passed, failed, undecided };

// What is judged: the total, or a function. Costs are the mean of one run.
struct GateRow {
  std::string name; // empty for the total
  std::string file, object;
  double before = 0, after = 0; // rounded, if they exceed 2^53
  // The probability of such a growth by chance. None if the costs are exact.
  std::optional<double> chance{};
  GateVerdict verdict = GateVerdict::passed;

  bool is_total() const { return name.empty(); }
  double growth() const { return before > 0 ? after / before - 1 : 0; } // 0.05 is 5 %
};

struct CostGate {
  double percent = 0;
  std::string event, unit;
  bool is_exact = false;
  size_t runs_before = 1, runs_after = 1;
  std::vector<GateRow> rows; // the total first, then functions in descending order of growth
  size_t too_small = 0;      // functions that were not judged because they have too few samples
  // Functions that only one side has, as after a change of names or of inlining. They are not
  // judged by themselves. The cost is in percent of that side's total.
  size_t only_before = 0, only_after = 0;
  double percent_before = 0, percent_after = 0;
  std::string largest_after; // the name of the most expensive one of AFTER; empty if there is none
  // What is missing if the verdict is undecided: "3 % needs about 25000 samples, …".
  std::string missing;
  GateVerdict verdict = GateVerdict::passed;
};

// Judges the first event. Without patterns, the rows are the total and each function that both
// sides have and that has at least 1 % of the total of either side. With patterns, they are the
// functions that match, whatever their size; one that only AFTER has grew without a limit.
//
// The variation of sampled costs is that among the runs of both sides. If both sides are single
// runs, the program itself is assumed to vary by 1 %, and n samples by the square root of n. The
// limit must exceed what the test can detect; otherwise the verdict on this row is undecided. A
// function without a pattern is then not judged, and neither is one with fewer than 50 samples on a
// side.
//
// Fails with no_data if a side has no cost, a pattern matches no function of AFTER, or a run ended
// in another way than all runs of the other side, and with invalid_argument for a pattern that is
// not valid.
Result<CostGate> judge(const GateSide &before, const GateSide &after, const GateLimit &limit);

// Returns a line for each row that failed, and lines about what was judged. No line has a prefix.
std::string to_text(const CostGate &gate);
// Returns the JSON of the table with one more key: "gate":{"limit","verdict","event","exact",
// "runs":{"before","after"},"judged":[{"name","file","object","before","after","growth","chance",
// "verdict"}],"not_judged":{"too_few_samples","only_before","only_after"},"missing"}, the numbers
// of functions that were not judged. The total has the name "". "growth" is null if the cost before
// is 0, and "chance" if the costs are exact.
std::string to_json(const DiffTable &table, const CostGate &gate, uint32_t limit);
// Returns Markdown for a pull request: the verdict, if `gate` is not null, and a table of the total
// and the `most` functions whose cost changed most, or all if it is 0. With a verdict, the costs
// are those of one run.
std::string to_markdown(const DiffTable &table, const CostGate *gate, size_t most = 20);

} // namespace tally
