// Counts of all arcs and blocks of a function from those of the arcs that have a counter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/coverage_graph.h>
#include <tally/export.h>

namespace tally {

struct FlowCounts {
  std::vector<int64_t> arcs;   // as CoverageGraph::arcs_of()
  std::vector<int64_t> blocks; // by number
  uint32_t unsolved = 0;       // arcs that nothing tells the count of: 0 above
  // Some count is below 0: threads counted without atomic updates, or the data is damaged. Arcs out
  // of calls that may not return are not looked at: fork() and setjmp() return twice, which leaves
  // a count below 0 there while all others hold.
  bool negative = false;
  bool overflow = false; // some sum left 64 bits, and is wrong
};

// What flows into a block flows out of it. The entry has no arc into it and the exit none out of it
// (in GCC 3 one arc leads from the exit to the entry); all other blocks balance, and those that
// nothing leads to, or that lead nowhere, count 0. Arcs off the
// spanning tree have counters, so each other arc is told by one of its blocks, whichever comes
// first (Knuth, The Art of Computer Programming, 2.3.4.1). Takes time in proportion to the arcs.
// Keeps its tables from one function to the next.
class TALLY_API FlowSolver {
public:
  // counters: of the arcs off the tree, in their order; those that are missing at the end are 0.
  // The result holds until the next call.
  const FlowCounts &solve(const CoverageGraph &graph, const GraphFunction &function,
                          std::span<const int64_t> counters);

private:
  struct Side {
    uint32_t unknown = 0, first_arc = 0; // first_arc - 1: the newest; 0: there is none
    int64_t sum = 0;
  };
  struct Block {
    Side in, out;
    bool known = false;
  };
  void settle(uint32_t arc, int64_t count);
  void look_at(uint32_t block);

  std::span<const GraphArc> arcs_;
  uint32_t exit_ = 0;
  std::vector<Block> blocks_;
  std::vector<uint32_t> next_in_, next_out_; // arc + 1 of the same block; 0: the last
  std::vector<bool> arc_known_;
  std::vector<uint32_t> waiting_;
  FlowCounts counts_;
};

} // namespace tally
