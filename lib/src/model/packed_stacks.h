// Stacks and counts while they are being collected, in few bytes each.
//
// A compiler's stacks hardly repeat, so a second of them at 4 kHz is thirty thousand nodes of a
// trie. Those added last are a trie that is found in by hashing. When it is full it is merged into
// the rest, which is a list of nodes in the order of a walk, packed: a node then takes a byte or
// two, and memory grows with distinct stacks only, up to the two million nodes that a list holds:
// beyond that a stack that comes again may be kept once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tally/chunks.h>
#include <tally/result.h>
#include <tally/stack_profile.h>

#include "model/id_table.h"

namespace tally {

class PackedStacks {
public:
  // `merge_at`: so many nodes of the trie, and at least a sixteenth of the packed ones, are merged
  // at once. Merging walks all that is packed, for which the reader of a ring has little time.
  explicit PackedStacks(uint32_t merge_at = 8192) : merge_at_(merge_at) {}

  // Frames outermost first, numbered by the caller; none: a sample without a known place.
  void add(std::span<const uint32_t> frames, ThreadId thread, PartId part, int64_t ticks);
  bool empty() const { return rows_.empty() && packed_.empty(); }
  size_t memory_bytes() const;

  // Adds all to a builder with one value type; `location_of` a frame's number is asked once a node.
  // An error: counts that leave 64 bits.
  Result<void> pour(StackProfileBuilder &builder,
                    const std::function<LocationId(uint32_t frame)> &location_of) const;

private:
  struct Node {
    uint32_t caller; // no_node: outermost
    uint32_t frame;
  };
  struct Row {
    uint32_t node; // no_node: no stack
    ThreadId thread;
    PartId part;
    int64_t ticks;
  };
  // Packed nodes, as many as one merge can go through while samples wait. Full ones stay as they
  // are: what comes again later stands in two of them.
  struct Packed {
    std::vector<std::byte> bytes; // zstd
    uint32_t nodes = 0;
  };
  class Reader;
  class Writer;
  class Walk;
  static constexpr uint32_t no_node = UINT32_MAX;

  uint32_t push(uint32_t caller, uint32_t frame);
  void merge();

  uint32_t merge_at_;
  Chunks<Node, 9> nodes_; // a caller's number is smaller than its callee's
  DenseIdTable by_node_;
  Chunks<Row, 7> rows_;
  DenseIdTable by_row_;
  std::vector<uint32_t> previous_,
      previous_frames_; // the stack before: the next mostly begins alike
  std::vector<Packed> packed_;
  bool overflow_ = false;
};

} // namespace tally
