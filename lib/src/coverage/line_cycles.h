// The count of a line that several blocks share: how often it was entered, and how often control
// went round within it.
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

// Arcs of one function by the block they leave, those of a block by destination.
struct CountedGraph {
  std::vector<CountedArc> arcs;
  std::vector<uint32_t> first_out; // by block; one more at the end
  std::vector<uint32_t> in;        // arcs by the block they enter
  std::vector<uint32_t> first_in;

  std::span<const CountedArc> out_of(uint32_t block) const {
    return std::span(arcs).subspan(first_out[block], first_out[block + 1] - first_out[block]);
  }
  std::span<const uint32_t> into(uint32_t block) const {
    return std::span(in).subspan(first_in[block], first_in[block + 1] - first_in[block]);
  }
};

// Circuits are found one after another (Hawick and James, "Enumerating circuits and loops in graphs
// with self-arcs and multiple-arcs", 2008), each takes the smallest count of its arcs from all of
// them: so the order in which they are found decides the sum, and it is gcov's: starts in the order
// of the blocks, arcs in the order of their destination.
class LineCycles {
public:
  explicit LineCycles(uint64_t most_steps) : most_steps_(most_steps) {}
  void begin(const CountedGraph &graph); // a function

  struct Count {
    int64_t count = 0;
    bool too_long = false; // most_steps did not do
    bool overflow = false;
  };
  // `blocks`: the line's, as often as they are listed.
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
  std::vector<int64_t> left_;     // by arc
  std::vector<uint32_t> line_of_; // by block: the newest line it was found on
  uint32_t line_ = 0;
  std::vector<bool> blocked_;                    // by block
  std::vector<std::vector<uint32_t>> waits_for_; // by block: who is unblocked with it
  std::vector<uint32_t> touched_;                // blocks of the two tables above
  std::vector<uint32_t> path_;                   // arcs
  size_t dead_from_ = SIZE_MAX;                  // the first arc of the path with nothing left
  std::vector<Frame> frames_;
  std::vector<uint32_t> unblocking_;
};

} // namespace tally
