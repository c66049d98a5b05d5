// Walks the trie of stacks once, so that the work grows with the number of distinct stacks and not
// with that of samples, and so that a function which recurs in a stack can be counted once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/stack_profile.h"
#include "support/result.h"
#include "support/trie_walk.h"

namespace tally {

struct StackFilter {
  ThreadId thread = none<ThreadId>; // none means all
  PartId part = none<PartId>;       // none means all
};

// The self and total values of each node of the trie, summed over all samples or over those of one
// thread or part.
class StackWeights {
public:
  // Fails if a value is negative or a sum does not fit. Samples without a stack are ignored.
  static Result<StackWeights> of(const StackProfile &profile, StackFilter filter = {});

  size_t width() const { return width_; } // values of a row
  std::span<const uint64_t> self(StackId node) const { return row(self_, node); }
  std::span<const uint64_t> total(StackId node) const { return row(total_, node); }
  bool empty(StackId node) const;

private:
  std::span<const uint64_t> row(const std::vector<uint64_t> &of, StackId node) const {
    return std::span(of).subspan(size_t{index_of(node)} * width_, width_);
  }
  size_t width_ = 0;
  std::vector<uint64_t> self_, total_;
};

// Calls visitor.enter(node) before and visitor.leave(node) after the node's callees are visited.
// Nodes whose totals are all 0 are skipped.
template <class Visitor>
void walk_stacks(const StackProfile &profile, const StackWeights &weights, Visitor &&visitor) {
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i < profile.stack_count(); ++i)
    if (!weights.empty(static_cast<StackId>(i)))
      nodes.push_back(i);
  walk_trie(
      profile.stack_count(), nodes,
      [&](uint32_t node) { return index_of(profile.stack_caller(static_cast<StackId>(node))); },
      [&](uint32_t node) { visitor.enter(static_cast<StackId>(node)); },
      [&](uint32_t node) { visitor.leave(static_cast<StackId>(node)); });
}

// Counts keys once per stack: `enter` returns whether the key was not on the path yet.
class OnPath {
public:
  bool enter(uint32_t key) {
    if (key >= depth_.size())
      depth_.resize(key + 1, 0);
    return depth_[key]++ == 0;
  }
  void leave(uint32_t key) { --depth_[key]; }

private:
  std::vector<uint32_t> depth_;
};

} // namespace tally
