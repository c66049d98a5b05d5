// Builds the heaviest nodes of a tree that is made as it is looked at.
#pragma once

#include <algorithm>
#include <queue>

#include <tally/tree.h>

#include "report/names.h"

namespace tally {

// Source: `Children children(const State &)`, a vector of {TreeNode, State}. A child is no heavier
// than its parent, so that the heaviest nodes always hang together.
template <class State> class TreeBuilder {
public:
  struct Item {
    TreeNode node;
    State state;
  };

  template <class Children>
  void build(CallTree &tree, std::vector<Item> roots, size_t limit, Children &&children) {
    for (Item &root : roots)
      add(std::move(root), none);
    size_t shown = 0;
    while (!queue_.empty() && shown < limit) {
      const size_t at = queue_.top().index;
      queue_.pop();
      entries_[at].shown = true;
      ++shown;
      if (entries_[at].item.node.recursive)
        continue;
      for (Item &child : children(entries_[at].item.state)) {
        child.node.depth = entries_[at].item.node.depth + 1;
        add(std::move(child), at);
      }
      entries_[at].item.state = {};
    }
    tree.left_out = queue_.size();
    for (size_t root : ordered(roots_))
      emit(tree, root);
  }

private:
  static constexpr size_t none = SIZE_MAX;
  struct Entry {
    Item item;
    std::vector<size_t> children;
    bool shown = false;
  };
  struct Waiting {
    uint64_t weight;
    size_t index;
    bool operator<(const Waiting &other) const {
      // Of equal ones the one that was found first.
      return weight != other.weight ? weight < other.weight : index > other.index;
    }
  };

  void add(Item item, size_t parent) {
    const size_t index = entries_.size();
    (parent == none ? roots_ : entries_[parent].children).push_back(index);
    queue_.push({item.node.inclusive.front(), index});
    entries_.push_back({std::move(item), {}, false});
  }
  std::vector<size_t> ordered(std::vector<size_t> nodes) const {
    std::ranges::stable_sort(nodes, [&](size_t a, size_t b) {
      const TreeNode &left = entries_[a].item.node, &right = entries_[b].item.node;
      return std::tie(right.inclusive.front(), left.name, left.file, left.object) <
             std::tie(left.inclusive.front(), right.name, right.file, right.object);
    });
    return nodes;
  }
  // Not recursive: the tree may be deep.
  void emit(CallTree &tree, size_t root) {
    std::vector<size_t> waiting{root};
    while (!waiting.empty()) {
      Entry &entry = entries_[waiting.back()];
      waiting.pop_back();
      if (!entry.shown)
        continue;
      tree.nodes.push_back(std::move(entry.item.node));
      const std::vector<size_t> children = ordered(entry.children);
      waiting.insert(waiting.end(), children.rbegin(), children.rend());
    }
  }

  std::vector<Entry> entries_;
  std::vector<size_t> roots_;
  std::priority_queue<Waiting> queue_;
};

inline size_t node_limit(const TreeOptions &options) {
  constexpr size_t most = 100000;
  return options.limit == 0 ? most : std::min<size_t>(options.limit, most);
}

// Source: beginnings(), named(name), names() and children(state). `tree` has its events and totals.
template <class State, class Source>
Result<CallTree> build_tree(CallTree tree, const Source &source, const TreeOptions &options) {
  tree.callers = options.callers;
  const bool from_function = !options.function.empty();
  if (options.callers && !from_function)
    return fail(ErrorCode::invalid_argument, "the callers of which function?", "--callers");
  auto roots = from_function ? source.named(options.function) : source.beginnings();
  if (roots.empty() && from_function)
    return no_function(options.function, source.names());
  TreeBuilder<State>().build(tree, std::move(roots), node_limit(options),
                             [&](const State &state) { return source.children(state); });
  return tree;
}

} // namespace tally
