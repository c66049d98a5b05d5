// Counts lines, branches and calls from a graph and its counters as gcov 3.3 did. The rules are in
// lib/src/formats/gcov3/FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coverage/gcov_counts.h"
#include "model/coverage_graph.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace tally {

// An arc, other than a fall-through, out of a block that ends on the line.
struct Gcov3Branch {
  bool is_call = false;
  int64_t count = 0; // how often a branch was taken, or how often a call returned
  int64_t total = 0; // how often the block ran; gcov prints "never executed" for 0
};

struct Gcov3Line {
  uint32_t number = 0;
  int64_t count = 0; // summed over all mentions of the line by blocks
  bool ran = false;  // some block has a count other than 0, even if negative counts make the sum 0
  uint32_t first_branch = 0, last_branch = 0; // half-open, into the source's branches
};

// A line counts once, however many blocks name it. "Executed" means run at least once.
struct Gcov3Totals {
  uint32_t lines = 0, lines_executed = 0;
  uint32_t branches = 0, branches_executed = 0, branches_taken = 0; // taken: at least once
  uint32_t calls = 0, calls_executed = 0;
};

struct Gcov3Source {
  StringId name{}; // in the graph's strings, as the compiler wrote it
  Gcov3Totals totals;
  std::vector<Gcov3Line> lines; // in ascending order of their numbers
  std::vector<Gcov3Branch> branches;
};

struct Gcov3Function {
  static constexpr uint32_t no_source = ~uint32_t{0};
  uint32_t source = no_source; // the source of its first line, an index of Gcov3Counts::sources
  uint32_t first_line = 0;     // the first in the file's order, not the smallest
  int64_t count = 0;           // how often it was entered
  bool inexact = false;        // the function has a negative count
  Gcov3Totals totals;          // of its lines in `source`, without its lines in other files
};

struct Gcov3Counts {
  std::vector<Gcov3Source> sources;     // in the order of their first lines
  std::vector<Gcov3Function> functions; // as in the graph
};

// Counts the lines, branches and calls of a graph. `counters` holds, for each function, one value
// for each arc that is not on the spanning tree; an empty vector means all zeros. A diagnostic with
// `source`, the name of the file of counters, reports arcs without a computable count and, if
// report_negative is set, functions with negative counts. Fails with overflow if a sum exceeds 64
// bits.
Result<Gcov3Counts> gcov3_counts(const CoverageGraph &graph,
                                 std::span<const std::vector<int64_t>> counters,
                                 Diagnostics &diagnostics, const std::string &source = {},
                                 bool report_negative = true);

// Converts the counts to the form of current versions of gcov. Lines and branches keep their
// counts. Calls are left out. Functions have only their names and how often they were entered.
GcovCounts as_gcov_counts(const CoverageGraph &graph, const Gcov3Counts &counts);

} // namespace tally
