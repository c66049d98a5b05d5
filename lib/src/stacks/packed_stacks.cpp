#include "stacks/packed_stacks.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "support/checked.h"
#include "support/hash.h"
#include "support/trie_walk.h"

namespace tally {

namespace {

constexpr int64_t most_at_once = 1000;     // times of one count
constexpr uint32_t most_nodes = 2'000'000; // per packed list; merging one takes about 40 ms

struct Count {
  uint32_t thread, slot;
  int64_t count;
  uint32_t times = 0; // how many there are in PackedNode::times
  auto key() const { return uint64_t{thread} << 32 | slot; }
};

// A node of a packed list. The list is in depth-first order: callers precede callees, and callees
// of one caller are sorted by frame number.
struct PackedNode {
  uint32_t depth = 0; // 0 stands for samples without a stack and precedes all others
  uint32_t frame = 0;
  std::vector<Count> counts;    // ascending
  std::vector<StackTime> times; // of all counts, in their order
};

// Returns whether `a` precedes `b` or is equal to it, if both come after the node that was written
// last. The deeper node comes first, except that the node without a stack precedes everything.
bool comes_first(const PackedNode &a, const PackedNode &b) {
  if (a.depth != b.depth)
    return a.depth == 0 || (b.depth != 0 && a.depth > b.depth);
  return a.frame <= b.frame;
}

// Adds the counts of `newer` to `to`, whose times are earlier.
void add_counts(PackedNode &to, const PackedNode &newer, bool &overflow) {
  PackedNode sum{to.depth, to.frame, {}, {}};
  const StackTime *old_time = to.times.data(), *new_time = newer.times.data();
  const auto take = [&](const Count &each, const StackTime *&time) {
    if (!sum.counts.empty() && sum.counts.back().key() == each.key()) {
      overflow |= !checked_add(sum.counts.back().count, each.count);
      sum.counts.back().times += each.times;
    } else {
      sum.counts.push_back(each);
    }
    sum.times.insert(sum.times.end(), time, time + each.times);
    time += each.times;
  };
  auto a = to.counts.begin();
  auto b = newer.counts.begin();
  while (a != to.counts.end() || b != newer.counts.end())
    if (b == newer.counts.end() || (a != to.counts.end() && a->key() <= b->key()))
      take(*a++, old_time);
    else
      take(*b++, new_time);
  to = std::move(sum);
}

} // namespace

// Encodes a node as several numbers. The first is twice the number of levels by which the node is
// further out than a callee of the previous node, plus 1 if the node has counts. Then comes its
// frame; and if it has counts, their number, and the thread, slot, count and number of times of
// each. In a list of their own are the times, each as the difference to the previous one of any
// count: neighbours in the trie ran at similar times.
class PackedStacks::Writer {
public:
  explicit Writer(const PackedStacks &of) : of_(of) {}
  void write(const PackedNode &node) {
    nodes_.write(uint64_t{depth_ + 1 - node.depth} << 1 | !node.counts.empty());
    nodes_.write(node.frame);
    depth_ = node.depth;
    ++out_.nodes;
    if (node.counts.empty())
      return;
    nodes_.write(node.counts.size());
    const StackTime *time = node.times.data();
    for (const Count &each : node.counts) {
      nodes_.write(each.thread);
      nodes_.write(each.slot);
      nodes_.write(static_cast<uint64_t>(each.count));
      nodes_.write(each.times);
      for (uint32_t i = 0; i < each.times; ++i, ++time)
        write(*time, of_.is_interval(each.slot));
    }
  }
  Packed finish() {
    out_.bytes = nodes_.finish();
    if (out_.time_count > 0)
      out_.times = times_.finish();
    return std::move(out_);
  }

private:
  void write(StackTime time, bool is_interval) {
    times_.write(zigzag(int64_t{time.at} - last_));
    if (is_interval)
      times_.write(time.length);
    last_ = time.at;
    out_.last_time = std::max(out_.last_time, time.at);
    ++out_.time_count;
  }

  const PackedStacks &of_;
  NumberPacker nodes_, times_;
  Packed out_;
  uint32_t depth_ = 0, last_ = 0;
};

class PackedStacks::Reader {
public:
  Reader(const PackedStacks &of, const Packed &packed)
      : of_(of), nodes_(packed.bytes), left_(packed.nodes) {
    if (!packed.times.empty())
      times_.emplace(packed.times);
  }
  bool next(PackedNode &node) {
    if (left_ == 0)
      return false;
    --left_;
    const uint64_t first = nodes_.read();
    depth_ = depth_ + 1 - static_cast<uint32_t>(first >> 1);
    node.depth = depth_;
    node.frame = static_cast<uint32_t>(nodes_.read());
    node.counts.clear();
    node.times.clear();
    if ((first & 1) != 0) {
      node.counts.resize(static_cast<size_t>(nodes_.read()));
      for (Count &each : node.counts) {
        each.thread = static_cast<uint32_t>(nodes_.read());
        each.slot = static_cast<uint32_t>(nodes_.read());
        each.count = static_cast<int64_t>(nodes_.read());
        each.times = static_cast<uint32_t>(nodes_.read());
        if (!times_)
          each.times = 0; // they were dropped
        for (uint32_t i = 0; i < each.times; ++i)
          node.times.push_back(time(of_.is_interval(each.slot)));
      }
    }
    return true;
  }

private:
  StackTime time(bool is_interval) {
    last_ += from_zigzag(times_->read());
    return {static_cast<uint32_t>(last_), is_interval ? static_cast<uint32_t>(times_->read()) : 0};
  }

  const PackedStacks &of_;
  NumberUnpacker nodes_;
  std::optional<NumberUnpacker> times_;
  uint32_t left_, depth_ = 0;
  int64_t last_ = 0;
};

// Visits the trie's nodes in the order in which they are packed.
class PackedStacks::Walk {
public:
  explicit Walk(const PackedStacks &of)
      : of_(of), times_(of.times_by_row()), rows_(of.rows_.size()) {
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
      counts_of(of_.nodes_.size(), node);
      return true;
    }
    if (next_ == visits_.size())
      return false;
    const auto [index, depth] = visits_[next_++];
    node.depth = depth;
    node.frame = of_.nodes_[index].frame;
    counts_of(index, node);
    return true;
  }

private:
  void counts_of(size_t index, PackedNode &node) {
    node.counts.clear();
    node.times.clear();
    const auto key = [&](uint32_t i) {
      return std::pair(index_of(of_.rows_[i].thread), of_.rows_[i].slot);
    };
    const auto rows =
        std::span(rows_).subspan(first_row_[index], first_row_[index + 1] - first_row_[index]);
    std::ranges::sort(rows, {}, key);
    for (const uint32_t i : rows) {
      const Row &row = of_.rows_[i];
      const std::span<const StackTime> times = times_.of(i);
      node.counts.push_back(
          {index_of(row.thread), row.slot, row.count, static_cast<uint32_t>(times.size())});
      node.times.insert(node.times.end(), times.begin(), times.end());
    }
  }

  struct Visit {
    uint32_t index, depth;
  };
  const PackedStacks &of_;
  TimeLog::ByRow times_;
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
                       int64_t count, uint32_t value, StackTime time) {
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
  if (time.at != StackTime::unknown) {
    const int64_t times = is_interval(slot) ? 1 : count / amounts_[value];
    for (int64_t i = 0; i < std::min(times, most_at_once); ++i)
      times_.add(id, time, is_interval(slot));
  }
  const uint32_t packed = packed_.empty() ? 0 : packed_.back().nodes;
  const size_t packed_times = packed_.empty() ? 0 : packed_.back().times.size();
  // Rows count as well: a program with one loop and a thousand parts has few nodes but many rows.
  if (std::max(nodes_.size(), rows_.size()) >= std::max(merge_at_, packed / 16) ||
      times_.bytes() >= std::max(size_t{2} * merge_at_, packed_times / 16))
    merge();
}

TimeLog::ByRow PackedStacks::times_by_row() const {
  return times_.by_row(rows_.size(), [&](uint32_t row) { return is_interval(rows_[row].slot); });
}

// The lists were filled one after another.
void PackedStacks::drop_earliest_times() {
  uint32_t all = 0;
  for (size_t i = packed_.size(); i-- > 0;) {
    Packed &each = packed_[i];
    all += each.time_count;
    if (all <= most_times_ || each.times.empty())
      continue;
    times_from_ = std::max(times_from_, each.last_time + 1);
    each.times = {};
    each.time_count = 0;
  }
}

void PackedStacks::merge() {
  if (packed_.empty() || packed_.back().nodes > most_nodes ||
      packed_.back().time_count > most_times_ / 4)
    packed_.push_back({});
  Writer writer(*this);
  Reader older(*this, packed_.back());
  Walk newer(*this);
  PackedNode a, b;
  bool has_a = older.next(a), has_b = newer.next(b);
  while (has_a || has_b) {
    const bool same = has_a && has_b && a.depth == b.depth && a.frame == b.frame;
    const bool take_a = has_a && (!has_b || comes_first(a, b));
    if (same)
      add_counts(a, b, overflow_);
    writer.write(take_a ? a : b);
    if (take_a)
      has_a = older.next(a);
    if (!take_a || same)
      has_b = newer.next(b);
  }
  packed_.back() = writer.finish();
  drop_earliest_times();
  nodes_ = {};
  by_node_ = {};
  rows_ = {};
  by_row_ = {};
  times_.clear();
  previous_.clear();
  previous_frames_.clear();
}

size_t PackedStacks::memory_bytes() const {
  size_t bytes = nodes_.memory_bytes() + rows_.memory_bytes() + by_node_.memory_bytes() +
                 by_row_.memory_bytes() + times_.memory_bytes();
  for (const Packed &each : packed_)
    bytes += each.bytes.capacity() + each.times.capacity();
  return bytes;
}

Result<void> PackedStacks::pour(StackProfileBuilder &builder,
                                const std::function<LocationId(uint32_t)> &location_of) const {
  if (overflow_)
    return fail(ErrorCode::overflow, "the sum of the counts of a sample exceeds 63 bits");
  std::vector<int64_t> values(values_, 0);
  const auto add_sample = [&](StackId stack, ThreadId thread, uint32_t slot, int64_t count,
                              std::span<const StackTime> times) {
    const uint32_t value = slot % values_;
    values[value] = count;
    const uint32_t row =
        builder.add_sample(stack, thread, static_cast<PartId>(slot / values_), values);
    values[value] = 0;
    for (const StackTime &time : times)
      builder.add_time({time.at * StackTime::unit_ns, row, value,
                        is_interval(slot) ? static_cast<int64_t>(time.length * StackTime::unit_ns)
                                          : amounts_[value]});
  };
  builder.set_times_from_ns(times_from_ * StackTime::unit_ns);
  std::vector<StackId> path;
  for (const Packed &each : packed_) {
    PackedNode node;
    for (Reader reader(*this, each); reader.next(node);) {
      path.resize(node.depth == 0 ? 0 : node.depth - 1);
      StackId stack = path.empty() ? none<StackId> : path.back();
      if (node.depth > 0)
        path.push_back(stack = builder.push(stack, location_of(node.frame)));
      std::span<const StackTime> times = node.times;
      for (const Count &count : node.counts) {
        add_sample(stack, static_cast<ThreadId>(count.thread), count.slot, count.count,
                   times.first(count.times));
        times = times.subspan(count.times);
      }
    }
  }
  std::vector<StackId> stacks;
  stacks.reserve(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node &node = nodes_[i];
    stacks.push_back(builder.push(node.caller == no_node ? none<StackId> : stacks[node.caller],
                                  location_of(node.frame)));
  }
  const TimeLog::ByRow times = times_by_row();
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const Row &row = rows_[i];
    add_sample(row.node == no_node ? none<StackId> : stacks[row.node], row.thread, row.slot,
               row.count, times.of(i));
  }
  return {};
}

} // namespace tally
