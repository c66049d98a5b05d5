// Lines, functions and branches of one object file, counted as gcov of GCC 9 and later counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage_graph.h>
#include <tally/diagnostics.h>
#include <tally/export.h>

namespace tally {

struct GcovBranch {
  int64_t count = 0;
  bool fall_through = false;
  bool throws = false; // taken when an exception leaves a call
};

struct GcovLine {
  uint32_t line = 0;
  int64_t count = 0;
  bool unexecuted_block = false;                    // some block of it did not run
  GraphFunctionId function = none<GraphFunctionId>; // whose name gcov prints beside
  uint32_t first_branch = 0, last_branch = 0;       // half-open
};

struct GcovFunction {
  GraphFunctionId id{};
  uint32_t blocks = 0, blocks_executed = 0; // without entry and exit
  int64_t execution_count = 0;
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
};

struct GcovOptions {
  bool branches = true;
  // Elementary circuits through the blocks of a line are counted one by one. A line that needs more
  // steps has no count.
  uint64_t most_steps = 2'000'000;
  // Files that are wanted, by the name that GcovFile has; empty: all. Of others there are no lines
  // nor functions, and what has no line in a wanted one is not even solved.
  std::function<bool(const std::string &name)> wants;
  // May "NAME/.." be left out of a path? Where NAME is a symbolic link or missing it may not.
  std::function<bool(const std::string &folder)> is_plain_folder;
};

// What cannot be counted is found: arcs that nothing tells the count of, negative counts, sums that
// leave 64 bits, lines that take too many steps. `source`: the notes' file, for findings.
TALLY_API GcovCounts count_as_gcov(const CoverageGraph &graph, const CoverageCounters &counters,
                                   std::string_view source, Diagnostics &diagnostics,
                                   const GcovOptions &options = {});

} // namespace tally
