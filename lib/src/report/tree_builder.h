// Builds the part of a tree that has the heaviest nodes. Nodes are created only when they are
// visited.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "report/names.h"
#include "report/tree.h"
#include "support/sort.h"

namespace tally {

// A node that is not shown yet, with the data to weigh and to create it. There may be many more
// such nodes than will be shown.
template <class State> struct TreeChild {
  uint64_t weight = 0; // see weight_of()
  State state;
};

// A Source has `node(State &)`, which returns a node, and `children(const State &)`, which returns
// the children of that node as a vector of TreeChild<State>. node() is called first, when the node
// is to be shown, and may update the state. If the Source has `folds(const State &)`, nodes for
// which folds() returns true are left out, but not the nodes below them. A child must not be
// heavier than its parent, so that the heaviest nodes are always connected.
template <class State> class TreeBuilder {
public:
  template <class Source>
  void build(CallTree &tree, std::vector<TreeChild<State>> roots, size_t limit, Source &source) {
    left_ = limit;
    for (TreeChild<State> &root : roots)
      add(std::move(root), none);
    while (!waiting_.empty() && left_ > 0) {
      std::pop_heap(waiting_.begin(), waiting_.end());
      Waiting next = std::move(waiting_.back());
      waiting_.pop_back();
      if constexpr (requires { source.folds(next.child.state); })
        if (next.parent != none && source.folds(next.child.state)) {
          fold(next, source);
          continue;
        }
      --left_;
      const size_t at = entries_.size();
      entries_.push_back({source.node(next.child.state), next.child.weight, {}});
      if (next.parent != none)
        entries_[at].node.depth = entries_[next.parent].node.depth + 1;
      (next.parent == none ? roots_ : entries_[next.parent].children).push_back(at);
      for (TreeChild<State> &child : source.children(next.child.state))
        add(std::move(child), at);
    }
    tree.left_out = dropped_ + waiting_.size();
    for (size_t root : ordered(roots_))
      emit(tree, root);
  }

private:
  static constexpr size_t none = SIZE_MAX;
  struct Entry {
    TreeNode node;
    uint64_t weight = 0;
    std::vector<size_t> children;
  };
  struct Waiting {
    TreeChild<State> child;
    size_t parent, order;
    bool operator<(const Waiting &other) const {
      // Among equal weights, the child that was added first is taken first.
      return child.weight != other.child.weight ? child.weight < other.child.weight
                                                : order > other.order;
    }
  };

  // Removes a layer. Its parent gets the layer's self cost and callees.
  template <class Source> void fold(Waiting &layer, Source &source) {
    const TreeNode node = source.node(layer.child.state);
    TreeNode &parent = entries_[layer.parent].node;
    for (size_t i = 0; i < parent.self.size(); ++i)
      parent.self[i] += node.self[i];
    for (TreeChild<State> &child : source.children(layer.child.state))
      add(std::move(child), layer.parent);
  }

  void add(TreeChild<State> child, size_t parent) {
    waiting_.push_back({std::move(child), parent, order_++});
    if (waiting_.size() <= 2 * left_ + 1000) {
      std::push_heap(waiting_.begin(), waiting_.end());
      return;
    }
    // At most left_ more nodes will be shown, so the lightest can be dropped.
    std::nth_element(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(left_),
                     waiting_.end(), [](const Waiting &x, const Waiting &y) { return y < x; });
    dropped_ += waiting_.size() - left_;
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(left_), waiting_.end());
    std::make_heap(waiting_.begin(), waiting_.end());
  }
  std::vector<size_t> ordered(std::vector<size_t> nodes) const {
    sort_stably(nodes, [&](size_t a, size_t b) {
      const TreeNode &left = entries_[a].node, &right = entries_[b].node;
      return std::tie(entries_[b].weight, left.name, left.file, left.object) <
             std::tie(entries_[a].weight, right.name, right.file, right.object);
    });
    return nodes;
  }
  // Appends the nodes below `root` in depth-first order. Uses no recursion, because the tree may be
  // deep.
  void emit(CallTree &tree, size_t root) {
    std::vector<size_t> waiting{root};
    while (!waiting.empty()) {
      Entry &entry = entries_[waiting.back()];
      waiting.pop_back();
      const std::vector<size_t> children = ordered(std::move(entry.children));
      tree.nodes.push_back(std::move(entry.node));
      waiting.insert(waiting.end(), children.rbegin(), children.rend());
    }
  }

  std::vector<Entry> entries_; // the nodes to show
  std::vector<size_t> roots_;
  std::vector<Waiting> waiting_; // a heap
  size_t left_ = 0, order_ = 0, dropped_ = 0;
};

constexpr size_t most_tree_nodes = 100000;

inline size_t node_limit(const TreeOptions &options) {
  return options.limit == 0 ? most_tree_nodes : std::min<size_t>(options.limit, most_tree_nodes);
}

// Builds the tree that `options` request. `tree` already has its events and totals. `source` has
// beginnings(), named(matcher) and names(), and the members that TreeBuilder needs.
template <class State, class Source>
Result<CallTree> build_tree(CallTree tree, Source &&source, const TreeOptions &options) {
  tree.callers = options.callers || options.inverted;
  tree.inverted = options.inverted;
  const bool from_function = !options.function.empty();
  if (options.callers && !from_function)
    return fail(ErrorCode::invalid_argument, "requires the name of a function", "--callers");
  if (options.callers && options.inverted)
    return fail(ErrorCode::invalid_argument,
                "shows the self cost of functions, --callers the inclusive cost of one: give one "
                "of the two",
                "--inverted");
  std::vector<TreeChild<State>> roots;
  if (from_function)
    roots = source.named(FunctionMatcher(options.function, source.names()));
  else
    roots = source.beginnings();
  if (roots.empty() && from_function)
    return no_function(options.function, source.names());
  TreeBuilder<State>().build(tree, std::move(roots), node_limit(options), source);
  return tree;
}

// Adds the callers to a tree of a function's callees. `profile` is that of the tree.
template <class Profile>
Result<CallTree> with_callers(const Profile &profile, TreeOptions options, CallTree tree) {
  if (options.function.empty() || options.callers || options.inverted || options.by)
    return tree;
  options.callers = true;
  TALLY_TRY(callers, call_tree(profile, options));
  tree.above = std::move(callers.nodes);
  tree.above_left_out = callers.left_out;
  return tree;
}

} // namespace tally
