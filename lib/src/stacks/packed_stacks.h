// Stores stacks and counts in few bytes each while they are being collected.
//
// The stacks of a compiler hardly repeat: one second of them at 4 kHz makes thirty thousand trie
// nodes. The newest stacks are in a trie with hash tables. When the trie is full, it is merged into
// the packed stacks: a compressed list of nodes in depth-first order, in which a node takes a byte
// or two. Memory grows only with the number of distinct stacks, up to the two million nodes that a
// list holds; beyond that, a stack that recurs may be stored again.
//
// The time of each count is stored with its stack, because the nodes are numbered anew by each
// merge. A time takes 2 to 3 bytes. There may be four million of them; beyond that, the earliest
// are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "model/stack_profile.h"
#include "stacks/packed_numbers.h"
#include "stacks/time_log.h"
#include "support/chunks.h"
#include "support/id_table.h"
#include "support/result.h"

namespace tally {

class PackedStacks {
public:
  // The trie is merged when it has `merge_at` nodes or rows, and at least a sixteenth of the packed
  // nodes. A merge reads everything that is packed, for which the reader of a ring buffer has
  // little time.
  static constexpr uint32_t usual_merge = 8192;
  // What a time stands for: this amount of the value, or, if it is 0, an interval of its own
  // length.
  using Amounts = std::vector<int64_t>; // by value
  static constexpr uint32_t usual_times = 4'000'000;
  explicit PackedStacks(uint32_t merge_at = usual_merge, Amounts amounts = {1},
                        uint32_t most_times = usual_times)
      : merge_at_(merge_at), values_(static_cast<uint32_t>(amounts.size())),
        amounts_(std::move(amounts)), most_times_(most_times) {}

  // Adds to one value of a stack. `frames` are outermost first, numbered by the caller of this
  // function; empty for a sample whose location is unknown. `time` may be unknown. It is stored as
  // often as `count` contains the value's amount.
  void add(std::span<const uint32_t> frames, ThreadId thread, PartId part, int64_t count,
           uint32_t value = 0, StackTime time = {});
  bool empty() const { return rows_.empty() && packed_.empty(); }
  size_t memory_bytes() const;

  // Adds everything to a builder with as many value types. `location_of` maps a frame's number to
  // its location and is called once per node. Fails if a count exceeds 64 bits. Times become
  // nanoseconds.
  Result<void> pour(StackProfileBuilder &builder,
                    const std::function<LocationId(uint32_t frame)> &location_of) const;

private:
  struct Node {
    uint32_t caller; // no_node for an outermost frame
    uint32_t frame;
  };
  struct Row {
    uint32_t node; // no_node if there is no stack
    ThreadId thread;
    uint32_t slot; // see slot_of()
    int64_t count;
  };
  // Packed nodes, as many as one merge can process while samples wait. A full list does not change
  // any more, so a stack that recurs later is stored in a second list, too.
  struct Packed {
    std::vector<std::byte> bytes; // zstd
    std::vector<std::byte> times; // the same; empty if they were dropped
    uint32_t nodes = 0;
    uint32_t time_count = 0;
    uint32_t last_time = 0;
  };
  class Reader;
  class Writer;
  class Walk;
  static constexpr uint32_t no_node = UINT32_MAX;

  // Returns a number that stands for a part and a value.
  uint32_t slot_of(PartId part, uint32_t value) const { return index_of(part) * values_ + value; }
  bool is_interval(uint32_t slot) const { return amounts_[slot % values_] == 0; }
  TimeLog::ByRow times_by_row() const;
  void drop_earliest_times();
  uint32_t push(uint32_t caller, uint32_t frame);
  void merge();

  uint32_t merge_at_, values_;
  Amounts amounts_;
  uint32_t most_times_;   // in all lists
  Chunks<Node, 9> nodes_; // a caller's index is smaller than its callee's
  DenseIdTable by_node_;
  Chunks<Row, 7> rows_;
  DenseIdTable by_row_;
  TimeLog times_; // of rows_
  // The previous stack, outermost first; the next one mostly has the same outer frames.
  std::vector<uint32_t> previous_, previous_frames_;
  std::vector<Packed> packed_;
  uint32_t times_from_ = 0; // earlier ones were dropped
  bool overflow_ = false;
};

} // namespace tally
