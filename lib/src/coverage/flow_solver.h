// Computes the counts of all arcs and blocks of a function from those of the arcs that have a
// counter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/coverage_graph.h"

namespace tally {

struct FlowCounts {
  std::vector<int64_t> arcs;   // in the order of CoverageGraph::arcs_of()
  std::vector<int64_t> blocks; // by block number
  uint32_t unsolved = 0;       // how many arcs have no computable count; their count above is 0
  // Some arc's count is below 0: threads counted without atomic updates, or the data is damaged.
  // Arcs out of calls that may not return are not checked: fork() and setjmp() return twice, which
  // makes such an arc's count negative while all other counts are right.
  bool negative = false;
  bool overflow = false; // some sum did not fit in 64 bits and is wrong
};

// Solves the flow equations of a function: the sum of a block's incoming arcs equals that of its
// outgoing arcs. The entry has no incoming and the exit no outgoing arc (in GCC 3 one arc leads
// from the exit to the entry). Any other block without incoming or without outgoing arcs counts 0.
// The arcs that are not on the spanning tree have counters, so every other arc follows from one of
// its two blocks, whichever is known first (Knuth, The Art of Computer Programming, 2.3.4.1). Takes
// time proportional to the number of arcs. A solver reuses its tables for the next function.
class FlowSolver {
public:
  // Solves one function. `counters` holds one value for each arc that is not on the spanning tree,
  // in the order of the arcs; values missing at the end are 0. The result is valid until the next
  // call. `inside` holds blocks that control had entered and not left when the counters were read;
  // a block may occur several times.
  const FlowCounts &solve(const CoverageGraph &graph, const GraphFunction &function,
                          std::span<const int64_t> counters, std::span<const uint32_t> inside = {});

private:
  struct Side {
    // The number of arcs whose count is not known yet, and the head of the side's list of arcs:
    // 1 + the arc's index, 0 if there is none.
    uint32_t unknown = 0, first_arc = 0;
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
  std::vector<uint32_t> next_in_, next_out_; // by arc: 1 + the list's next arc; 0 at the end
  std::vector<bool> arc_known_;
  std::vector<uint32_t> waiting_;
  FlowCounts counts_;
};

} // namespace tally
