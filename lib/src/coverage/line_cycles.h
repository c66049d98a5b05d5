// Computes the count of a line with several blocks: how often control entered the line, plus how
// often it went around a cycle within the line.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tally {

// An arc of a function's graph, with its count.
struct CountedArc {
  uint32_t source = 0, destination = 0;
  uint32_t flags = 0;
  int64_t count = 0;
};

// The arcs of one function, sorted by source block, then by destination.
struct CountedGraph {
  std::vector<CountedArc> arcs;
  std::vector<uint32_t> first_out; // by block: index of its first arc; one more at the end
  std::vector<uint32_t> in;        // indexes of arcs, sorted by destination block
  std::vector<uint32_t> first_in;  // by block: its first index in `in`; one more at the end

  std::span<const CountedArc> out_of(uint32_t block) const {
    return std::span(arcs).subspan(first_out[block], first_out[block + 1] - first_out[block]);
  }
  std::span<const uint32_t> into(uint32_t block) const {
    return std::span(in).subspan(first_in[block], first_in[block + 1] - first_in[block]);
  }
};

// Enumerates elementary circuits by the algorithm of Hawick and James ("Enumerating circuits and
// loops in graphs with self-arcs and multiple-arcs", 2008). Each circuit adds the smallest count of
// its arcs to the sum, and that count is subtracted from all its arcs. Therefore the sum depends on
// the order of the circuits. As in gcov, circuits are searched from each block in turn, and arcs
// are followed in the order of their destinations.
class LineCycles {
public:
  explicit LineCycles(uint64_t most_steps) : most_steps_(most_steps) {}
  void begin(const CountedGraph &graph); // must be called for each function

  struct Count {
    int64_t count = 0;
    bool too_long = false; // most_steps were not enough; `count` is a lower bound
    bool overflow = false;
  };
  // Returns the count of a line. `blocks` are its blocks; a block that the line lists twice is in
  // it twice.
  Count count(std::span<const uint32_t> blocks);

private:
  struct Frame {
    uint32_t block, next_arc;
    bool found;
  };
  bool circuits_from(uint32_t start, int64_t &sum, bool &overflow);
  bool usable(uint32_t arc, uint32_t start) const;
  void take_circuit(int64_t &sum, bool &overflow);
  void unblock(uint32_t block);
  void block_until(uint32_t block, uint32_t start);

  uint64_t most_steps_, steps_ = 0;
  const CountedGraph *graph_ = nullptr;
  std::vector<int64_t> left_;     // by arc: its count minus that of circuits found so far
  std::vector<uint32_t> line_of_; // by block: the latest line that lists it
  uint32_t line_ = 0;
  std::vector<bool> blocked_;                    // by block
  std::vector<std::vector<uint32_t>> waits_for_; // by block: the blocks to unblock with it
  std::vector<uint32_t> touched_;                // blocks that have entries in the two tables above
  std::vector<uint32_t> path_;                   // arcs
  size_t dead_from_ = SIZE_MAX;                  // index in path_ of the first arc without counts
  std::vector<Frame> frames_;
  std::vector<uint32_t> unblocking_;
};

} // namespace tally
