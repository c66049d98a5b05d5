// Sorts the arcs of one function as gcov does, and classifies its arcs and blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coverage/line_cycles.h"
#include "model/coverage_graph.h"

namespace tally {

class FunctionArcs {
public:
  // Replaces the arcs by those of another function. `counts` has the count of each arc.
  void take(uint32_t blocks, std::span<const GraphArc> arcs, const std::vector<int64_t> &counts) {
    sort(blocks, arcs, counts);
    classify(blocks);
  }
  const CountedGraph &counted() const { return counted_; }
  bool has_branches(uint32_t block) const { return !unconditional_[block]; }
  bool only_exceptions_reach(uint32_t block) const { return exceptional_[block]; }
  bool throws(uint32_t arc) const { return throws_[arc]; }

private:
  void sort(size_t blocks, std::span<const GraphArc> arcs, const std::vector<int64_t> &counts);
  void classify(uint32_t blocks);

  CountedGraph counted_;
  std::vector<uint32_t> order_, waiting_;
  std::vector<uint8_t> unconditional_, exceptional_; // by block
  std::vector<bool> throws_;                         // by arc
};

} // namespace tally
