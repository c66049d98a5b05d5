// Assigns the conditions of a function to its lines, as gcov does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/coverage_graph.h"
#include "support/sort.h"

namespace tally {

// A condition belongs to the line to which its block was assigned last.
class LineConditions {
public:
  void begin(const CoverageGraph &graph, const GraphFunction &function) {
    conditions_.clear();
    for (uint32_t i = function.first_condition; i < function.last_condition; ++i)
      conditions_.push_back({graph.conditions[i].block, i});
    if (conditions_.empty()) // as in nearly all functions
      return;
    sort_stably(conditions_, {}, &Condition::block);
    line_of_.assign(function.block_count, no_line);
  }
  bool empty() const { return conditions_.empty(); }
  void put_on_line(uint32_t block, uint64_t line) { line_of_[block] = line; }

  // Calls `put` with the index, in the graph, of each condition that the block has on this line.
  // Each condition is passed only once, even if a line lists the block twice.
  template <class Put> void take(uint32_t block, uint64_t line, Put put) {
    if (line_of_[block] != line)
      return;
    line_of_[block] = no_line;
    for (auto at = std::ranges::lower_bound(conditions_, block, {}, &Condition::block);
         at != conditions_.end() && at->block == block; ++at)
      put(at->index);
  }

private:
  static constexpr uint64_t no_line = UINT64_MAX;
  struct Condition {
    uint32_t block, index; // index in CoverageGraph::conditions
  };
  std::vector<Condition> conditions_; // by block
  std::vector<uint64_t> line_of_;     // by block
};

} // namespace tally
