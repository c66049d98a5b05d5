// Walks the trie of stacks once, so that work grows with distinct stacks and not with samples, and
// so that what recurs in a stack can be counted once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

struct StackFilter {
  ThreadId thread = none<ThreadId>; // none: all
  PartId part = none<PartId>;       // none: all
};

// What each node of the trie weighs, by itself and with all that it called: of all samples, or of
// those of one thread or part.
class StackWeights {
public:
  // Fails on a negative value and on a sum that does not fit. Samples without a stack are not in
  // it.
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

// Calls visitor.enter(node) before and visitor.leave(node) after all that node called, callers
// first; nodes that weigh nothing are left out. Not recursive: a stack may be deep.
template <class Visitor>
void walk_stacks(const StackProfile &profile, const StackWeights &weights, Visitor &&visitor) {
  const uint32_t count = profile.stack_count();
  constexpr uint32_t end = none<uint32_t>;
  std::vector<uint32_t> first_child(count, end), next_sibling(count, end);
  uint32_t first_root = end;
  for (uint32_t i = count; i-- > 0;) { // backwards, so that children come in ascending order
    const auto node = static_cast<StackId>(i);
    if (weights.empty(node))
      continue;
    const StackId caller = profile.stack_caller(node);
    uint32_t &head = caller == none<StackId> ? first_root : first_child[index_of(caller)];
    next_sibling[i] = head;
    head = i;
  }
  std::vector<uint32_t> path;
  uint32_t next = first_root;
  while (next != end || !path.empty()) {
    if (next == end) {
      const uint32_t done = path.back();
      path.pop_back();
      visitor.leave(static_cast<StackId>(done));
      next = next_sibling[done];
      continue;
    }
    visitor.enter(static_cast<StackId>(next));
    path.push_back(next);
    next = first_child[next];
  }
}

// Counts keys once a stack: `enter` says whether the key was not on the path yet.
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
