// Walks depth first through a trie whose nodes refer to their callers. It is iterative, because a
// stack may be deep.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/strings.h"

namespace tally {

// Calls enter(node) before and leave(node) after the node's callees are visited. `nodes` are the
// nodes to visit, including all their callers; their numbers are below `count`. Callees of one
// caller are visited in the order of `nodes`. caller_of(node) returns none<uint32_t> for an
// outermost frame.
template <class CallerOf, class Enter, class Leave>
void walk_trie(uint32_t count, std::span<const uint32_t> nodes, CallerOf caller_of, Enter enter,
               Leave leave) {
  constexpr uint32_t end = none<uint32_t>;
  std::vector<uint32_t> first_callee(count, end), next_sibling(count, end);
  uint32_t next = end;
  // In reverse order, because each node is inserted before the siblings that are already there.
  for (size_t i = nodes.size(); i-- > 0;) {
    const uint32_t node = nodes[i], caller = caller_of(node);
    uint32_t &head = caller == end ? next : first_callee[caller];
    next_sibling[node] = head;
    head = node;
  }
  std::vector<uint32_t> path;
  while (next != end || !path.empty()) {
    if (next == end) {
      const uint32_t done = path.back();
      path.pop_back();
      leave(done);
      next = next_sibling[done];
      continue;
    }
    enter(next);
    path.push_back(next);
    next = first_callee[next];
  }
}

} // namespace tally
