#include "stacks/packed_stacks.h"

#include <algorithm>
#include <memory>
#include <new>
#include <numeric>

#include <zstd.h>

#include "support/checked.h"
#include "support/hash.h"
#include "support/trie_walk.h"

namespace tally {

namespace {

constexpr uint32_t most_nodes = 2'000'000; // per packed list; merging one takes about 40 ms

struct Count {
  uint32_t thread, slot;
  int64_t count;
  auto key() const { return uint64_t{thread} << 32 | slot; }
};

// A node of a packed list. The list is in depth-first order: callers precede callees, and callees
// of one caller are sorted by frame number.
struct PackedNode {
  uint32_t depth = 0; // 0 stands for samples without a stack and precedes all others
  uint32_t frame = 0;
  std::vector<Count> counts; // ascending
};

// Returns whether `a` precedes `b` or is equal to it, if both come after the node that was written
// last. The deeper node comes first, except that the node without a stack precedes everything.
bool comes_first(const PackedNode &a, const PackedNode &b) {
  if (a.depth != b.depth)
    return a.depth == 0 || (b.depth != 0 && a.depth > b.depth);
  return a.frame <= b.frame;
}

// Adds `from` to `to`; both lists are sorted by key.
void add_counts(std::vector<Count> &to, std::span<const Count> from, bool &overflow) {
  for (const Count &each : from) {
    const auto at = std::ranges::lower_bound(to, each.key(), {}, &Count::key);
    if (at == to.end() || at->key() != each.key())
      to.insert(at, each);
    else if (!checked_add(at->count, each.count))
      overflow = true;
  }
}

struct FreeStreams {
  void operator()(ZSTD_CCtx *context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx *context) const { ZSTD_freeDCtx(context); }
};

constexpr size_t raw_block = 64 << 10;
constexpr int level = 1, window_log = 17;

} // namespace

// Encodes a node as several numbers. The first is twice the number of levels by which the node is
// further out than a callee of the previous node, plus 1 if the node has counts. Then comes its
// frame; and if it has counts, their number, and the thread, slot and count of each.
class PackedStacks::Writer {
public:
  Writer() : context_(ZSTD_createCCtx()), raw_(raw_block) {
    if (!context_)
      throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, window_log);
  }
  void write(const PackedNode &node) {
    number(uint64_t{depth_ + 1 - node.depth} << 1 | !node.counts.empty());
    number(node.frame);
    depth_ = node.depth;
    ++nodes_;
    if (node.counts.empty())
      return;
    number(node.counts.size());
    for (const Count &each : node.counts) {
      number(each.thread);
      number(each.slot);
      number(static_cast<uint64_t>(each.count));
    }
  }
  Packed finish() {
    pack(ZSTD_e_end);
    packed_.shrink_to_fit();
    return {std::move(packed_), nodes_};
  }

private:
  void number(uint64_t value) {
    if (used_ + 10 > raw_.size())
      pack(ZSTD_e_continue);
    for (; value >= 0x80; value >>= 7)
      raw_[used_++] = static_cast<std::byte>(value | 0x80);
    raw_[used_++] = static_cast<std::byte>(value);
  }
  void pack(ZSTD_EndDirective how) {
    ZSTD_inBuffer in{raw_.data(), used_, 0};
    for (;;) {
      const size_t at = packed_.size();
      packed_.resize(at + (raw_block / 2));
      ZSTD_outBuffer out{packed_.data() + at, packed_.size() - at, 0};
      const size_t left = ZSTD_compressStream2(context_.get(), &out, &in, how);
      packed_.resize(at + out.pos);
      if (ZSTD_isError(left))
        throw std::bad_alloc(); // the data is in memory, so that only memory can be short
      if (how == ZSTD_e_end ? left == 0 : in.pos == in.size)
        break;
    }
    used_ = 0;
  }

  std::unique_ptr<ZSTD_CCtx, FreeStreams> context_;
  std::vector<std::byte> raw_, packed_;
  size_t used_ = 0;
  uint32_t depth_ = 0, nodes_ = 0;
};

class PackedStacks::Reader {
public:
  explicit Reader(const Packed &packed)
      : context_(ZSTD_createDCtx()), raw_(raw_block),
        left_(packed.nodes), in_{packed.bytes.data(), packed.bytes.size(), 0} {
    if (!context_)
      throw std::bad_alloc();
  }
  bool next(PackedNode &node) {
    if (left_ == 0)
      return false;
    --left_;
    const uint64_t first = number();
    depth_ = depth_ + 1 - static_cast<uint32_t>(first >> 1);
    node.depth = depth_;
    node.frame = static_cast<uint32_t>(number());
    node.counts.clear();
    if ((first & 1) != 0) {
      node.counts.resize(static_cast<size_t>(number()));
      for (Count &each : node.counts) {
        each.thread = static_cast<uint32_t>(number());
        each.slot = static_cast<uint32_t>(number());
        each.count = static_cast<int64_t>(number());
      }
    }
    return true;
  }

private:
  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at_ == filled_)
        fill();
      const auto byte = static_cast<uint64_t>(raw_[at_++]);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
  }
  void fill() {
    ZSTD_outBuffer out{raw_.data(), raw_.size(), 0};
    const size_t status = ZSTD_decompressStream(context_.get(), &out, &in_);
    if (ZSTD_isError(status) || out.pos == 0)
      throw std::bad_alloc(); // the data was packed here, so that it is valid
    filled_ = out.pos;
    at_ = 0;
  }

  std::unique_ptr<ZSTD_DCtx, FreeStreams> context_;
  std::vector<std::byte> raw_;
  uint32_t left_, depth_ = 0;
  ZSTD_inBuffer in_;
  size_t at_ = 0, filled_ = 0;
};

// Visits the trie's nodes in the order in which they are packed.
class PackedStacks::Walk {
public:
  explicit Walk(const PackedStacks &of) : of_(of), rows_(of.rows_.size()) {
    const auto &nodes = of.nodes_;
    const auto count = static_cast<uint32_t>(nodes.size());
    std::vector<uint32_t> by_frame(count);
    std::iota(by_frame.begin(), by_frame.end(), 0U);
    std::ranges::sort(by_frame, {}, [&](uint32_t i) { return nodes[i].frame; });
    visits_.reserve(count);
    uint32_t depth = 0;
    walk_trie(
        count, by_frame, [&](uint32_t i) { return nodes[i].caller; },
        [&](uint32_t i) {
          visits_.push_back({i, ++depth});
        },
        [&](uint32_t) { --depth; });
    std::iota(rows_.begin(), rows_.end(), 0U);
    std::ranges::sort(rows_, {}, [&](uint32_t i) { return of.rows_[i].node; });
    first_row_.assign(nodes.size() + 2, 0);
    for (size_t i = 0; i < of.rows_.size(); ++i)
      ++first_row_[(of.rows_[i].node == no_node ? nodes.size() : of.rows_[i].node) + 1];
    std::partial_sum(first_row_.begin(), first_row_.end(), first_row_.begin());
    has_stackless_ = first_row_[count] != first_row_[count + 1];
  }
  bool next(PackedNode &node) {
    if (has_stackless_) {
      has_stackless_ = false;
      node.depth = node.frame = 0;
      counts_of(of_.nodes_.size(), node.counts);
      return true;
    }
    if (next_ == visits_.size())
      return false;
    const auto [index, depth] = visits_[next_++];
    node.depth = depth;
    node.frame = of_.nodes_[index].frame;
    counts_of(index, node.counts);
    return true;
  }

private:
  void counts_of(size_t node, std::vector<Count> &counts) const {
    counts.clear();
    for (uint32_t i = first_row_[node]; i < first_row_[node + 1]; ++i) {
      const Row &row = of_.rows_[rows_[i]];
      counts.push_back({index_of(row.thread), row.slot, row.count});
    }
    std::ranges::sort(counts, {}, &Count::key);
  }

  struct Visit {
    uint32_t index, depth;
  };
  const PackedStacks &of_;
  std::vector<Visit> visits_;
  size_t next_ = 0;
  std::vector<uint32_t> rows_, first_row_;
  bool has_stackless_ = false;
};

uint32_t PackedStacks::push(uint32_t caller, uint32_t frame) {
  const auto hash = [](const Node &n) { return mix(uint64_t{n.caller} << 32 | n.frame); };
  const Node wanted{caller, frame};
  const auto [id, added] = by_node_.find_or_add(
      hash(wanted), static_cast<uint32_t>(nodes_.size()),
      [&](uint32_t i) { return nodes_[i].caller == caller && nodes_[i].frame == frame; },
      [&](uint32_t i) { return hash(nodes_[i]); });
  if (added)
    nodes_.push_back(wanted);
  return id;
}

void PackedStacks::add(std::span<const uint32_t> frames, ThreadId thread, PartId part,
                       int64_t count, uint32_t value) {
  size_t same = 0;
  while (same < frames.size() && same < previous_frames_.size() &&
         previous_frames_[same] == frames[same])
    ++same;
  previous_.resize(same);
  previous_frames_.resize(same);
  for (const uint32_t frame : frames.subspan(same)) {
    previous_.push_back(push(previous_.empty() ? no_node : previous_.back(), frame));
    previous_frames_.push_back(frame);
  }
  const uint32_t node = previous_.empty() ? no_node : previous_.back();
  const uint32_t slot = slot_of(part, value);
  const auto hash = [](uint32_t n, ThreadId t, uint32_t s) {
    return combine(uint64_t{n} << 32 | index_of(t), s);
  };
  const auto [id, added] = by_row_.find_or_add(
      hash(node, thread, slot), static_cast<uint32_t>(rows_.size()),
      [&](uint32_t i) {
        return rows_[i].node == node && rows_[i].thread == thread && rows_[i].slot == slot;
      },
      [&](uint32_t i) { return hash(rows_[i].node, rows_[i].thread, rows_[i].slot); });
  if (added)
    rows_.push_back({node, thread, slot, count});
  else if (!checked_add(rows_[id].count, count))
    overflow_ = true;
  const uint32_t packed = packed_.empty() ? 0 : packed_.back().nodes;
  // Rows count as well: a program with one loop and a thousand parts has few nodes but many rows.
  if (std::max(nodes_.size(), rows_.size()) >= std::max(merge_at_, packed / 16))
    merge();
}

void PackedStacks::merge() {
  if (packed_.empty() || packed_.back().nodes > most_nodes)
    packed_.push_back({});
  Writer writer;
  Reader older(packed_.back());
  Walk newer(*this);
  PackedNode a, b;
  bool has_a = older.next(a), has_b = newer.next(b);
  while (has_a || has_b) {
    const bool same = has_a && has_b && a.depth == b.depth && a.frame == b.frame;
    const bool take_a = has_a && (!has_b || comes_first(a, b));
    if (same)
      add_counts(a.counts, b.counts, overflow_);
    writer.write(take_a ? a : b);
    if (take_a)
      has_a = older.next(a);
    if (!take_a || same)
      has_b = newer.next(b);
  }
  packed_.back() = writer.finish();
  nodes_ = {};
  by_node_ = {};
  rows_ = {};
  by_row_ = {};
  previous_.clear();
  previous_frames_.clear();
}

size_t PackedStacks::memory_bytes() const {
  size_t bytes = nodes_.memory_bytes() + rows_.memory_bytes() + by_node_.memory_bytes() +
                 by_row_.memory_bytes();
  for (const Packed &each : packed_)
    bytes += each.bytes.capacity();
  return bytes;
}

Result<void> PackedStacks::pour(StackProfileBuilder &builder,
                                const std::function<LocationId(uint32_t)> &location_of) const {
  if (overflow_)
    return fail(ErrorCode::overflow, "the sum of the counts of a sample exceeds 63 bits");
  std::vector<int64_t> values(values_, 0);
  const auto add_sample = [&](StackId stack, ThreadId thread, uint32_t slot, int64_t count) {
    int64_t &value = values[slot % values_];
    value = count;
    builder.add_sample(stack, thread, static_cast<PartId>(slot / values_), values);
    value = 0;
  };
  std::vector<StackId> path;
  for (const Packed &each : packed_) {
    PackedNode node;
    for (Reader reader(each); reader.next(node);) {
      path.resize(node.depth == 0 ? 0 : node.depth - 1);
      StackId stack = path.empty() ? none<StackId> : path.back();
      if (node.depth > 0)
        path.push_back(stack = builder.push(stack, location_of(node.frame)));
      for (const Count &count : node.counts)
        add_sample(stack, static_cast<ThreadId>(count.thread), count.slot, count.count);
    }
  }
  std::vector<StackId> stacks;
  stacks.reserve(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node &node = nodes_[i];
    stacks.push_back(builder.push(node.caller == no_node ? none<StackId> : stacks[node.caller],
                                  location_of(node.frame)));
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row &row = rows_[i];
    add_sample(row.node == no_node ? none<StackId> : stacks[row.node], row.thread, row.slot,
               row.count);
  }
  return {};
}

} // namespace tally
