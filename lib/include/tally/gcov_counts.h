// Lines, functions and branches of one object file, counted as gcov of GCC 9 and later counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage.h>
#include <tally/coverage_graph.h>
#include <tally/diagnostics.h>
#include <tally/export.h>

namespace tally {

struct GcovBranch {
  int64_t count = 0;
  bool fall_through = false;
  bool throws = false;                  // taken when an exception leaves a call
  uint32_t source = 0, destination = 0; // blocks
};

// A block that ends in a call which may not return.
struct GcovCall {
  uint32_t source = 0, destination = 0; // blocks
  int64_t returned = 0;
};

// What gcov tells of a line since GCC 14. Half-open ranges of GcovCounts' columns.
struct GcovDetails {
  uint32_t first_block = 0, last_block = 0;
  uint32_t first_call = 0, last_call = 0;
  uint32_t first_condition = 0, last_condition = 0;
};

struct GcovLine {
  uint32_t line = 0;
  int64_t count = 0;
  bool unexecuted_block = false;                    // some block of it did not run
  GraphFunctionId function = none<GraphFunctionId>; // whose name gcov prints beside
  uint32_t first_branch = 0, last_branch = 0;       // half-open
  uint32_t details = 0;                             // in GcovCounts::details
  // How often it ran at least. This is `count`, but where that takes too long to tell and so is 0,
  // and where counts of its functions are below 0: there it is 1 of a line that ran.
  int64_t at_least = 0;
};

struct GcovFunction {
  GraphFunctionId id{};
  uint32_t blocks = 0, blocks_executed = 0; // without entry and exit
  int64_t execution_count = 0;
  bool inexact = false; // some count of it is below 0
};

struct GcovFile {
  std::string name;                    // as compiled, without "." and, where that is safe, ".."
  std::vector<GcovFunction> functions; // by line
  // By line. Functions that begin in one line (instances of a template) have lines of their own,
  // which stand where that line is: so a number may stand several times.
  std::vector<GcovLine> lines;
};

struct GcovCounts {
  std::vector<GcovFile> files; // in the order in which the notes name them
  std::vector<GcovBranch> branches;
  // The first is that of lines of which nothing more is told; few objects have others.
  std::vector<GcovDetails> details{1};
  std::vector<uint32_t> blocks; // of a line, as often as gcov takes them for it
  std::vector<GcovCall> calls;
  std::vector<ConditionCoverage> conditions;
};

struct GcovOptions {
  bool branches = true;
  bool blocks = false; // and calls
  // Elementary circuits through the blocks of a line are counted one by one. A line that needs more
  // steps has no count.
  uint64_t most_steps = 2'000'000;
  // Files that are wanted, by the name that GcovFile has; empty: all. Of others there are no lines
  // nor functions, and what has no line in a wanted one is not even solved.
  std::function<bool(const std::string &name)> wants;
  // A finding names the functions that have negative counts. (Whoever adds up many objects can do
  // so once for all.)
  bool tell_negative = true;
  // May "NAME/.." be left out of a path? Where NAME is a symbolic link or missing it may not.
  std::function<bool(const std::string &folder)> is_plain_folder;
};

// What cannot be counted is found: arcs that nothing tells the count of, negative counts, sums that
// leave 64 bits, lines that take too many steps. `source`: the notes' file, for findings.
TALLY_API GcovCounts count_as_gcov(const CoverageGraph &graph, const CoverageCounters &counters,
                                   std::string_view source, Diagnostics &diagnostics,
                                   const GcovOptions &options = {});

} // namespace tally
