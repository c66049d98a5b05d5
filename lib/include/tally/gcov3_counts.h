// What gcov 3.3 told of a graph and its counters: lines with counts, and below them branches and
// calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage_graph.h>
#include <tally/diagnostics.h>
#include <tally/export.h>
#include <tally/gcov_counts.h>
#include <tally/result.h>

namespace tally {

// An arc that does not fall through, out of a block that ends on the line.
struct Gcov3Branch {
  bool is_call = false;
  int64_t count = 0; // taken; of a call: returned
  int64_t total = 0; // its block ran; 0: "never executed"
};

struct Gcov3Line {
  uint32_t number = 0;
  int64_t count = 0;                          // of all blocks, each as often as it names the line
  bool ran = false;                           // some block did, also where counts below 0 hide it
  uint32_t first_branch = 0, last_branch = 0; // half-open, into the source's branches
};

// A line that several blocks name is one; executed is what ran at least once.
struct Gcov3Totals {
  uint32_t lines = 0, lines_executed = 0;
  uint32_t branches = 0, branches_executed = 0, branches_taken = 0; // taken: at least once
  uint32_t calls = 0, calls_executed = 0;
};

struct Gcov3Source {
  StringId name{}; // of the graph: as the compiler wrote it
  Gcov3Totals totals;
  std::vector<Gcov3Line> lines; // by number
  std::vector<Gcov3Branch> branches;
};

struct Gcov3Function {
  static constexpr uint32_t no_source = ~uint32_t{0};
  uint32_t source = no_source; // of its first line, an index of sources
  uint32_t first_line = 0;     // as the file has it, not the smallest
  int64_t count = 0;           // entered
  bool inexact = false;        // some count of it is below 0
  Gcov3Totals totals;          // in that source: what it includes elsewhere is left out
};

struct Gcov3Counts {
  std::vector<Gcov3Source> sources;     // in the order of their first lines
  std::vector<Gcov3Function> functions; // those of the graph
};

// counters: by function, those of the arcs off the tree; an empty one is all zeros. Counts below 0
// (with tell_negative) and arcs that nothing tells the count of are findings with `source`, the
// name of the counters' file; sums that leave 64 bits are an error.
TALLY_API Result<Gcov3Counts> gcov3_counts(const CoverageGraph &graph,
                                           std::span<const std::vector<int64_t>> counters,
                                           Diagnostics &diagnostics, const std::string &source = {},
                                           bool tell_negative = true);

// The same in the shape of today's gcov: of lines and branches the counts (calls are no branches),
// of functions the name and how often they were entered.
TALLY_API GcovCounts as_gcov_counts(const CoverageGraph &graph, const Gcov3Counts &counts);

// As gcov 3.3 rounds: to the nearest, but to 0 and 100 only what is none and all. 0 of 0 is 0.
TALLY_API int gcov3_percent(int64_t count, int64_t total);

} // namespace tally
