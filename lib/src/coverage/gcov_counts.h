// Counts the lines, functions and branches of one object file as gcov of GCC 9 and later does. The
// rules are in lib/src/formats/gcov/FORMAT.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/coverage.h"
#include "model/coverage_graph.h"
#include "support/diagnostics.h"

namespace tally {

struct GcovBranch {
  int64_t count = 0;
  bool fall_through = false;
  bool throws = false;                  // taken when an exception leaves a call
  uint32_t source = 0, destination = 0; // block numbers
};

// A block that ends in a call that may not return.
struct GcovCall {
  uint32_t source = 0, destination = 0; // block numbers
  int64_t returned = 0;                 // how often the call returned
};

// The further data that gcov shows for a line since GCC 14, as half-open ranges of the vectors of
// GcovCounts.
struct GcovDetails {
  uint32_t first_block = 0, last_block = 0;
  uint32_t first_call = 0, last_call = 0;
  uint32_t first_condition = 0, last_condition = 0;
};

struct GcovLine {
  uint32_t line = 0;
  int64_t count = 0;
  bool unexecuted_block = false;                    // some block of the line did not run
  GraphFunctionId function = none<GraphFunctionId>; // the function that gcov names for the line
  uint32_t first_branch = 0, last_branch = 0;       // half-open, into GcovCounts::branches
  uint32_t details = 0;                             // an index of GcovCounts::details
  // A lower bound of how often the line ran. It equals `count`, except in two cases. If the line
  // takes more than GcovOptions::most_steps to count, `count` is 0 and this is as far as the count
  // got. If a function of the line has negative counts, this is at least 1 for a line that ran.
  int64_t at_least = 0;
  // How many more times the line may have run: not 0 only for lines of functions with an OpenFrame.
  int64_t uncertain = 0;
};

// A function that a thread was in when the counters were read. Its counters were updated up to some
// arc of its flow graph, and the following arcs were not counted.
struct OpenFrame {
  GraphFunctionId function{};
  std::string file{};         // of the pc; its last component suffices
  uint32_t line = 0;          // of the pc; 0 if unknown
  bool at_line_start = false; // the pc is the first instruction of the line
  // The function's counters, by their index, that the code around the pc updates. This code has no
  // line of its own, and the debug information attributes it to the line before it.
  std::vector<uint32_t> near_counters{};
  // The code is optimized, so that it was moved across the updates of counters; or near_counters
  // are not known.
  bool optimized = false;
  // Counters may be in registers, and their values in memory too small.
  bool in_registers = false;
  bool in_call = false; // the pc is in a call of a function that was not compiled to count
  // Only the code near the pc shows the function: the thread is perhaps not in it.
  bool perhaps = false;
  // The pc is in a call whose line is that of the source: the line certainly ran.
  bool has_run = false;
};

struct GcovFunction {
  GraphFunctionId id{};
  uint32_t blocks = 0, blocks_executed = 0; // without the entry and the exit
  int64_t execution_count = 0;              // how often it was entered
  bool inexact = false;                     // the function has a negative count
  int64_t uncertain = 0;                    // how many more times it may have been entered
};

struct GcovFile {
  // The path as compiled, without "." and, where GcovOptions::is_plain_directory permits, "..".
  std::string name;
  std::vector<GcovFunction> functions; // by start line, then column
  // By line number. Functions that begin in the same line (instances of a template) have separate
  // lines, which are placed at that line, so that a number can occur several times.
  std::vector<GcovLine> lines;
};

struct GcovCounts {
  std::vector<GcovFile> files; // in the order in which the notes name them
  std::vector<GcovBranch> branches;
  // The first element is empty and serves all lines without details; few objects need others.
  std::vector<GcovDetails> details{1};
  std::vector<uint32_t> blocks; // the blocks of a line, each as often as gcov lists it
  std::vector<GcovCall> calls;
  std::vector<ConditionCoverage> conditions;
};

struct GcovOptions {
  bool branches = true;
  bool blocks = false; // lists blocks and calls
  // The elementary circuits through the blocks of a line are counted one by one. A line that needs
  // more steps than this has no count.
  uint64_t most_steps = 2'000'000;
  // Returns whether a file is wanted, by its GcovFile::name and the working directory of the
  // compiler ("" if unknown). If empty, all files are wanted. Unwanted files are left out, and a
  // function without a line in a wanted file is not solved at all.
  std::function<bool(const std::string &name, std::string_view working_directory)> wants{};
  // Returns whether a function is wanted; others are not solved. If empty, all are wanted.
  std::function<bool(GraphFunctionId function)> wants_function{};
  // The functions in which threads were. Without these, their lines may have wrong counts.
  std::span<const OpenFrame> frames{};
  // Counts only entries of a function as its executions. gcov also counts jumps by computed goto
  // and the like, for which GCC adds fake arcs from the entry.
  bool only_entries = false;
  // Separates the lines of functions that begin in one line, such as the instances of a template,
  // also where the notes (of Clang, in the format of GCC 4) do not say where a function ends.
  // gcov's output separates them only where the notes say so.
  bool instances_apart = false;
  // Whether to add a diagnostic that names the functions with negative counts. A caller that adds
  // up many objects can disable this, and report the functions once.
  bool report_negative = true;
  // Returns whether `name` is a directory and not a symbolic link, so that in a path "name/.." is
  // its parent and both names can be removed. If empty, ".." is never removed.
  std::function<bool(const std::string &name, std::string_view working_directory)>
      is_plain_directory{};
};

// Counts one object. Adds a warning with `source`, the name of the notes, for what cannot be
// counted: arcs without a computable count, negative counts, sums of more than 64 bits, and lines
// that take too many steps.
GcovCounts count_as_gcov(const CoverageGraph &graph, const CoverageCounters &counters,
                         std::string_view source, Diagnostics &diagnostics,
                         const GcovOptions &options = {});

} // namespace tally
