#include "coverage/flow_solver.h"

#include <algorithm>

namespace tally {

namespace {
template <class T> void reset(std::vector<T> &values, size_t size) { values.assign(size, T{}); }
} // namespace

void FlowSolver::settle(uint32_t arc, int64_t count) {
  counts_.arcs[arc] = count;
  counts_.negative |= count < 0 && (arcs_[arc].flags & arc_fake) == 0;
  arc_known_[arc] = true;
  Side &out = blocks_[arcs_[arc].source].out, &in = blocks_[arcs_[arc].destination].in;
  for (Side *side : {&out, &in}) {
    --side->unknown;
    counts_.overflow |= __builtin_add_overflow(side->sum, count, &side->sum);
  }
}

// Sets the block's count if all arcs on one of its sides are known. If the block's count is known,
// and only one arc of a side is not, computes the count of that arc.
void FlowSolver::look_at(uint32_t number) {
  Block &block = blocks_[number];
  if (!block.known) {
    // A block without arcs on one side has count 0, except the entry, which may have no arc into
    // it, and the exit, which may have none out of it.
    const bool no_out = !block.out.first_arc && number == exit_,
               no_in = !block.in.first_arc && number == 0;
    const Side *side = nullptr;
    if (!no_out && block.out.unknown == 0)
      side = &block.out;
    else if (!no_in && block.in.unknown == 0)
      side = &block.in;
    if (!side)
      return;
    block.known = true;
    counts_.blocks[number] = side->sum;
  }
  for (const bool into : {false, true}) {
    Side &side = into ? block.in : block.out;
    if (side.unknown != 1)
      continue;
    const auto &next = into ? next_in_ : next_out_;
    uint32_t arc = side.first_arc;
    while (arc_known_[arc - 1])
      arc = next[arc - 1];
    --arc;
    int64_t count = 0;
    counts_.overflow |= __builtin_sub_overflow(counts_.blocks[number], side.sum, &count);
    settle(arc, count);
    waiting_.push_back(arcs_[arc].source);
    waiting_.push_back(arcs_[arc].destination);
  }
}

const FlowCounts &FlowSolver::solve(const CoverageGraph &graph, const GraphFunction &function,
                                    std::span<const int64_t> counters,
                                    std::span<const uint32_t> inside) {
  arcs_ = graph.arcs_of(function);
  exit_ = function.exit_block;
  counts_.unsolved = 0;
  counts_.negative = counts_.overflow = false;
  reset(counts_.arcs, arcs_.size());
  reset(counts_.blocks, function.block_count);
  reset(blocks_, function.block_count);
  reset(next_in_, arcs_.size());
  reset(next_out_, arcs_.size());
  arc_known_.assign(arcs_.size(), false);
  for (uint32_t i = 0; i < arcs_.size(); ++i) {
    Side &out = blocks_[arcs_[i].source].out, &in = blocks_[arcs_[i].destination].in;
    next_out_[i] = std::exchange(out.first_arc, i + 1);
    next_in_[i] = std::exchange(in.first_arc, i + 1);
    ++out.unknown;
    ++in.unknown;
  }
  for (const uint32_t block : inside)
    ++blocks_[block].out.sum;
  for (uint32_t i = 0, counter = 0; i < arcs_.size(); ++i)
    if (!(arcs_[i].flags & arc_on_tree)) {
      settle(i, counter < counters.size() ? counters[counter] : 0);
      ++counter;
    }
  waiting_.clear();
  for (uint32_t block = 0; block < function.block_count; ++block) {
    waiting_.push_back(block);
    while (!waiting_.empty()) {
      const uint32_t next = waiting_.back();
      waiting_.pop_back();
      look_at(next);
    }
  }
  counts_.unsolved = static_cast<uint32_t>(std::ranges::count(arc_known_, false));
  return counts_;
}

} // namespace tally
