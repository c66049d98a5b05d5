#include "coverage/line_cycles.h"

#include <algorithm>

namespace tally {

void LineCycles::begin(const CountedGraph &graph) {
  graph_ = &graph;
  const size_t blocks = graph.first_out.size() - 1;
  left_.resize(graph.arcs.size());
  line_of_.assign(blocks, 0);
  line_ = 0;
  blocked_.assign(blocks, false);
  waits_for_.resize(std::max(waits_for_.size(), blocks));
}

bool LineCycles::usable(uint32_t arc, uint32_t start) const {
  const uint32_t to = graph_->arcs[arc].destination;
  return to >= start && left_[arc] > 0 && line_of_[to] == line_;
}

LineCycles::Count LineCycles::count(std::span<const uint32_t> blocks) {
  Count out;
  const auto add = [&](int64_t count) {
    out.overflow |= __builtin_add_overflow(out.count, count, &out.count);
  };
  ++line_;
  for (const uint32_t block : blocks)
    line_of_[block] = line_;
  bool inner = false;
  for (const uint32_t block : blocks) {
    for (const uint32_t arc : graph_->into(block))
      if (line_of_[graph_->arcs[arc].source] != line_)
        add(graph_->arcs[arc].count);
      else
        inner = true;
    for (uint32_t arc = graph_->first_out[block]; arc < graph_->first_out[block + 1]; ++arc)
      left_[arc] = graph_->arcs[arc].count;
  }
  if (!inner)
    return out;
  steps_ = 0;
  int64_t circuits = 0;
  for (const uint32_t block : blocks)
    if (!circuits_from(block, circuits, out.overflow)) {
      out.too_long = true;
      break;
    }
  add(circuits);
  return out;
}

void LineCycles::take_circuit(int64_t &sum, bool &overflow) {
  int64_t least = left_[path_.front()];
  for (const uint32_t arc : path_)
    least = std::min(least, left_[arc]);
  overflow |= __builtin_add_overflow(sum, least, &sum);
  for (size_t i = 0; i < path_.size(); ++i) {
    left_[path_[i]] -= least;
    if (left_[path_[i]] == 0)
      dead_from_ = std::min(dead_from_, i);
  }
}

void LineCycles::unblock(uint32_t block) {
  unblocking_.assign(1, block);
  while (!unblocking_.empty()) {
    const uint32_t next = unblocking_.back();
    unblocking_.pop_back();
    if (!blocked_[next])
      continue;
    blocked_[next] = false;
    for (const uint32_t waiting : waits_for_[next])
      unblocking_.push_back(waiting);
    waits_for_[next].clear();
  }
}

void LineCycles::block_until(uint32_t block, uint32_t start) {
  for (uint32_t arc = graph_->first_out[block]; arc < graph_->first_out[block + 1]; ++arc) {
    if (!usable(arc, start))
      continue;
    auto &waiting = waits_for_[graph_->arcs[arc].destination];
    if (std::ranges::find(waiting, block) == waiting.end()) {
      touched_.push_back(graph_->arcs[arc].destination);
      waiting.push_back(block);
    }
  }
}

// Returns false if the search needs too many steps. Uses no recursion, because a line may have very
// many blocks.
bool LineCycles::circuits_from(uint32_t start, int64_t &sum, bool &overflow) {
  for (const uint32_t block : touched_) {
    blocked_[block] = false;
    waits_for_[block].clear();
  }
  touched_.clear();
  path_.clear();
  dead_from_ = SIZE_MAX;
  const auto enter = [&](uint32_t block) {
    frames_.push_back({block, graph_->first_out[block], false});
    blocked_[block] = true;
    touched_.push_back(block);
  };
  frames_.clear();
  enter(start);
  while (!frames_.empty()) {
    if (++steps_ > most_steps_)
      return false;
    Frame &frame = frames_.back();
    if (frame.next_arc == graph_->first_out[frame.block + 1]) {
      const Frame done = frame;
      if (done.found)
        unblock(done.block);
      else
        block_until(done.block, start);
      frames_.pop_back();
      if (!frames_.empty()) {
        frames_.back().found |= done.found;
        path_.pop_back();
        if (dead_from_ >= path_.size())
          dead_from_ = SIZE_MAX;
      }
      continue;
    }
    const uint32_t arc = frame.next_arc++;
    if (!usable(arc, start))
      continue;
    const uint32_t to = graph_->arcs[arc].destination;
    path_.push_back(arc);
    if (to == start) {
      take_circuit(sum, overflow);
      frame.found = true;
    } else if (dead_from_ == SIZE_MAX && !blocked_[to]) {
      enter(to);
      continue;
    }
    path_.pop_back();
    if (dead_from_ != SIZE_MAX && dead_from_ >= path_.size())
      dead_from_ = SIZE_MAX;
  }
  return true;
}

} // namespace tally
