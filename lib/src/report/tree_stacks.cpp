// Makes the call tree of stacks.
//
// Recursion is folded: if a stack enters a function again, the function's existing node represents
// both frames, and the callees of both are its children. So a path contains each function once,
// however deep the stack is, and each parent did call its child.

#include <array>
#include <map>

#include <fmt/format.h>

#include "report/call_layers.h"
#include "report/names.h"
#include "report/tree.h"
#include "report/tree_builder.h"
#include "report/value_text.h"
#include "support/hash.h"
#include "support/id_table.h"
#include "transform/owner_roots.h"
#include "transform/stack_walk.h"

namespace tally {

namespace {

// A frame of the trie: one of the lines of a node's location; 0 is the innermost.
struct TreeFrameId {
  StackId node = none<StackId>;
  uint32_t line = 0;
  friend bool operator==(const TreeFrameId &, const TreeFrameId &) = default;
};

// Numbers the functions of a tree, in the order of their texts. Functions with the same name, file
// and object get the same number.
class FunctionKeys {
public:
  using Texts = std::array<std::string_view, 3>; // name, file, object

  FunctionKeys(const StackProfile &profile, bool full) : profile_(profile) {
    const auto text = [&](StringId id) { return profile.strings[id]; };
    std::map<Texts, uint32_t> ids{{unknown, 0}};
    for (const SourceFunction &f : profile.functions())
      ids.try_emplace({text(f.name), text(f.file), text(f.object)});
    for (auto &[texts, id] : ids) {
      id = static_cast<uint32_t>(texts_.size());
      texts_.push_back(texts);
    }
    for (const SourceFunction &f : profile.functions())
      of_function_.push_back(ids[{text(f.name), text(f.file), text(f.object)}]);
    unknown_ = ids[unknown];
    for (const Texts &each : texts_)
      folds_.push_back(!full && is_call_layer(each[0]));
  }

  // Returns whether the function is a layer that is left out between others.
  bool folds(uint32_t key) const { return folds_[key]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  const Texts &texts(uint32_t key) const { return texts_[key]; }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (const Texts &each : texts_)
      out.push_back(each[0]);
    return out;
  }

  uint32_t line_count(StackId node) const {
    return std::max<uint32_t>(1, static_cast<uint32_t>(lines_of(node).size()));
  }
  TreeFrameId outermost(StackId node) const { return {node, line_count(node) - 1}; }
  // Returns the frame of the caller. Its node is none if there is no caller.
  TreeFrameId caller_of(const TreeFrameId &frame) const {
    if (frame.line + 1 < line_count(frame.node))
      return {frame.node, frame.line + 1};
    return {profile_.stack_caller(frame.node), 0};
  }
  uint32_t key_of(const TreeFrameId &frame) const {
    const auto lines = lines_of(frame.node);
    return lines.empty() ? unknown_ : of_function_[index_of(lines[frame.line].function)];
  }

private:
  static constexpr Texts unknown{"[unknown]", "", ""};
  std::span<const SourceLine> lines_of(StackId node) const {
    return profile_.location(profile_.stack_location(node)).lines;
  }

  const StackProfile &profile_;
  std::vector<Texts> texts_; // by key
  std::vector<bool> folds_;  // by key
  std::vector<uint32_t> of_function_;
  uint32_t unknown_ = 0;
};

// Adds values to sums. The sums cannot overflow: they are at most the profile's totals.
void add_values(std::span<uint64_t> sums, std::span<const uint64_t> values) {
  for (size_t v = 0; v < values.size(); ++v)
    sums[v] += values[v];
}

// A row of values for each node.
class ValueRows {
public:
  explicit ValueRows(size_t width) : width_(width) {}
  void add_row() { values_.resize(values_.size() + width_, 0); }
  std::span<uint64_t> operator[](uint32_t row) {
    return std::span(values_).subspan(row * width_, width_);
  }
  std::span<const uint64_t> operator[](uint32_t row) const {
    return std::span(values_).subspan(row * width_, width_);
  }

private:
  size_t width_;
  std::vector<uint64_t> values_;
};

// The input of both trees. If `rooted`, the outermost frames are threads or parts instead of
// functions, and a tree always begins with them.
struct TreeSource {
  const StackProfile &profile;
  const StackWeights &weights;
  const FunctionKeys &keys;
  std::span<const std::string> units;
  bool rooted = false;

  bool is_owner(const TreeFrameId &frame) const {
    return rooted && profile.stack_caller(frame.node) == none<StackId>;
  }
  TreeNode node(uint32_t key) const {
    TreeNode out;
    const FunctionKeys::Texts &texts = keys.texts(key);
    out.name = texts[0];
    out.file = texts[1];
    out.object = texts[2];
    out.self.assign(weights.width(), 0);
    out.inclusive.assign(weights.width(), 0);
    return out;
  }
  // Returns for each key whether the function matches. If `matcher` is null, all functions match.
  std::vector<bool> wanted_by(const FunctionMatcher *matcher) const {
    std::vector<bool> out;
    for (uint32_t key = 0; key < keys.size(); ++key)
      out.push_back(!matcher || matcher->matches(keys.texts(key)[0]));
    return out;
  }
};

// The tree of callees. It is built completely at once, because the frames that fold into a node may
// be anywhere below it in the trie. It has at most as many nodes as the trie has frames.
class FoldedTree {
public:
  using Child = TreeChild<uint32_t>;

  explicit FoldedTree(const TreeSource &from)
      : from_(from), self_(from.weights.width()), total_(from.weights.width()) {}

  std::vector<Child> beginnings() { return fold(nullptr); }
  // Returns the trees that begin with the outermost frames of the wanted functions. Recursive calls
  // below them are already part of them.
  std::vector<Child> named(const FunctionMatcher &wanted) { return fold(&wanted); }
  std::vector<std::string_view> names() const { return from_.keys.names(); }

  std::vector<Child> children(uint32_t id) const {
    std::vector<Child> out;
    for (uint32_t i = first_child_[id]; i < first_child_[id + 1]; ++i)
      out.push_back(child(children_[i]));
    return out;
  }
  TreeNode node(uint32_t id) const {
    TreeNode out = from_.node(nodes_[id].key);
    add_values(out.self, self_[id]);
    add_values(out.inclusive, total_[id]);
    out.recursive = nodes_[id].recursive;
    return out;
  }

  // enter() and leave() are called by walk_stacks().
  void enter(StackId stack) {
    for (uint32_t line = from_.keys.line_count(stack); line-- > 0;)
      enter_frame({stack, line});
    if (depth_ > (wants_all_ ? 0 : floor()))
      add_values(self_[path_[depth_ - 1]], from_.weights.self(stack));
  }
  void leave(StackId stack) {
    for (uint32_t line = from_.keys.line_count(stack); line > 0; --line) {
      const Undo undo = undo_.back();
      undo_.pop_back();
      if (undo.key == none<uint32_t>)
        continue;
      --on_stack_[undo.key];
      if (undo.pushed) {
        path_[undo.depth] = undo.node;
        at_[undo.key] = undo.at;
      }
      depth_ = undo.depth;
    }
  }

private:
  struct Node {
    uint32_t parent = none<uint32_t>; // the index of the parent, which is smaller than the node's
    uint32_t key = 0;
    bool recursive = false;
  };
  // The changes that entering a frame made.
  struct Undo {
    uint32_t key = none<uint32_t>; // none if the frame changed nothing
    bool pushed = false;
    uint32_t depth = 0, node = 0, at = 0; // former values of depth_, path_[depth], at_[key]
  };

  // Returns the depth of the outermost functions.
  uint32_t floor() const { return from_.rooted ? 1 : 0; }

  std::vector<Child> fold(const FunctionMatcher *matcher) {
    wants_all_ = !matcher;
    wanted_ = from_.wanted_by(matcher);
    at_.assign(from_.keys.size(), 0);
    on_stack_.assign(from_.keys.size(), 0);
    walk_stacks(from_.profile, from_.weights, *this);
    add_up();
    std::vector<Child> roots;
    for (uint32_t id = 0; id < nodes_.size(); ++id)
      if (nodes_[id].parent == none<uint32_t> && !is_empty(id))
        roots.push_back(child(id));
    return roots;
  }

  void enter_frame(const TreeFrameId &frame) {
    const uint32_t key = from_.keys.key_of(frame);
    const bool begins = depth_ <= floor();
    if (!from_.is_owner(frame) && (begins ? !wanted_[key] : from_.keys.folds(key))) {
      undo_.push_back({});
      return;
    }
    // Entries of path_ beyond depth_ are kept, so that leave() has to restore only one entry. An
    // entry of at_ is valid only if path_ has the same key there.
    const uint32_t at = at_[key];
    if (at < depth_ && nodes_[path_[at]].key == key) {
      undo_.push_back({key, false, depth_, 0, 0});
      depth_ = at + 1;
    } else {
      if (depth_ == path_.size())
        path_.push_back(0);
      undo_.push_back({key, true, depth_, path_[depth_], at});
      path_[depth_] = find_or_add(depth_ == 0 ? none<uint32_t> : path_[depth_ - 1], key);
      at_[key] = depth_++;
    }
    if (on_stack_[key]++ > 0)
      nodes_[path_[depth_ - 1]].recursive = true;
  }

  uint32_t find_or_add(uint32_t parent, uint32_t key) {
    const auto hash = [](const Node &node) {
      return mix((uint64_t{node.parent} << 32) | node.key);
    };
    const Node wanted{parent, key};
    const auto [id, added] = table_.find_or_add(
        hash(wanted), static_cast<uint32_t>(nodes_.size()),
        [&](uint32_t i) { return nodes_[i].parent == parent && nodes_[i].key == key; },
        [&](uint32_t i) { return hash(nodes_[i]); });
    if (added) {
      nodes_.push_back(wanted);
      self_.add_row();
    }
    return id;
  }

  void add_up() {
    total_ = self_;
    for (uint32_t id = static_cast<uint32_t>(nodes_.size()); id-- > 0;)
      if (nodes_[id].parent != none<uint32_t>)
        add_values(total_[nodes_[id].parent], total_[id]);
    first_child_.assign(nodes_.size() + 2, 0);
    const auto each_child = [&](auto take) {
      for (uint32_t id = 0; id < nodes_.size(); ++id)
        if (nodes_[id].parent != none<uint32_t> && !is_empty(id))
          take(nodes_[id].parent, id);
    };
    // first_child_[p + 1] is the index for the next child of p. At the end it is the index of the
    // first child of p + 1.
    each_child([&](uint32_t parent, uint32_t) { ++first_child_[parent + 2]; });
    for (size_t i = 1; i < first_child_.size(); ++i)
      first_child_[i] += first_child_[i - 1];
    children_.resize(first_child_.back());
    each_child([&](uint32_t parent, uint32_t id) { children_[first_child_[parent + 1]++] = id; });
  }

  // Returns whether a node has no cost, such as a function that only occurs between two calls of a
  // recursive function.
  bool is_empty(uint32_t id) const {
    return std::ranges::all_of(total_[id], [](uint64_t value) { return value == 0; });
  }
  Child child(uint32_t id) const { return {weight_of(total_[id], from_.units), id}; }

  const TreeSource &from_;
  bool wants_all_ = false;
  std::vector<bool> wanted_; // by key
  IdTable table_;
  std::vector<Node> nodes_;
  ValueRows self_, total_;
  std::vector<uint32_t> first_child_, children_;

  uint32_t depth_ = 0;             // length of the current folded path
  std::vector<uint32_t> path_;     // nodes of that path
  std::vector<uint32_t> at_;       // by key: its latest index in path_
  std::vector<uint32_t> on_stack_; // by key: the number of its frames on the current stack
  std::vector<Undo> undo_;         // one for each frame of the current stack
};

// A node of the tree of callers. It has an occurrence on each stack that it represents: the node's
// frame, and the frame of the requested function to which that leads.
struct CallersState {
  struct Occurrence {
    TreeFrameId frame;
    uint32_t begins = 0; // index in CallersTree::beginnings_
  };
  std::vector<Occurrence> occurrences;
  // The node is a thread or a part. It has the occurrences of the requested function, which is its
  // child.
  bool is_owner = false;
  bool is_function = false; // the node is the requested function
  bool recursive = false;
};

// The tree of a function's callers or, inverted, of the callers of the innermost functions, which
// shows the self cost of these. Its nodes are created only when they are visited, because a
// function that is called from everywhere may have many more paths than the trie has frames.
class CallersTree {
public:
  using State = CallersState;
  using Child = TreeChild<State>;

  CallersTree(const TreeSource &from, bool inverted) : from_(from), inverted_(inverted) {}

  std::vector<Child> beginnings() {
    if (!inverted_)
      return {}; // a tree of callers needs a function
    return grow(nullptr);
  }
  std::vector<Child> named(const FunctionMatcher &matcher) { return grow(&matcher); }
  std::vector<Child> grow(const FunctionMatcher *matcher) {
    wanted_ = from_.wanted_by(matcher);
    on_stack_.assign(from_.keys.size(), 0);
    outermost_.assign(from_.keys.size(), {});
    first_top_.push_back(0);
    for (uint32_t i = 0; i < from_.profile.stack_count(); ++i)
      first_top_.push_back(first_top_.back() + from_.keys.line_count(static_cast<StackId>(i)));
    tops_.resize(first_top_.back());
    walk_stacks(from_.profile, from_.weights, *this);
    std::map<uint32_t, Child> groups;
    for (uint32_t i = 0; i < beginnings_.size(); ++i) {
      const TreeFrameId frame = beginnings_[i].frame;
      Child &child = groups[from_.rooted ? beginnings_[i].owner : from_.keys.key_of(frame)];
      child.state.recursive |= beginnings_[i].recursive && !from_.rooted;
      add_to(child, {frame, i});
    }
    std::vector<Child> roots = take(groups);
    for (Child &root : roots)
      (from_.rooted ? root.state.is_owner : root.state.is_function) = true;
    return roots;
  }
  std::vector<std::string_view> names() const { return from_.keys.names(); }

  std::vector<Child> children(const State &state) const {
    std::map<uint32_t, Child> groups;
    for (const State::Occurrence &occurrence : state.occurrences) {
      if (state.is_owner) {
        if (!has_function(occurrence.frame))
          continue;
        Child &child = groups[from_.keys.key_of(occurrence.frame)];
        child.state.recursive |= beginnings_[occurrence.begins].recursive;
        add_to(child, occurrence);
        continue;
      }
      TreeFrameId caller = from_.keys.caller_of(occurrence.frame);
      while (has_function(caller) && from_.keys.folds(from_.keys.key_of(caller)) &&
             has_function(from_.keys.caller_of(caller)))
        caller = from_.keys.caller_of(caller);
      if (!has_function(caller))
        continue;
      // Skip the frames by which the caller called itself.
      const TreeFrameId top = top_of(caller);
      Child &child = groups[from_.keys.key_of(top)];
      child.state.recursive |= top != caller;
      add_to(child, {top, occurrence.begins});
    }
    std::vector<Child> out = take(groups);
    for (Child &child : out)
      child.state.is_function = state.is_owner;
    return out;
  }

  TreeNode node(const State &state) const {
    const Beginning &any = beginnings_[state.occurrences.front().begins];
    TreeNode out =
        from_.node(state.is_owner ? any.owner : from_.keys.key_of(state.occurrences.front().frame));
    for (const State::Occurrence &occurrence : state.occurrences) {
      const Beginning &from = beginnings_[occurrence.begins];
      add_values(out.inclusive, cost_of(from));
      if (state.is_function)
        add_values(out.self, inverted_ ? cost_of(from) : from.self);
    }
    out.recursive = state.recursive;
    return out;
  }

  // enter() and leave() are called by walk_stacks().
  void enter(StackId stack) {
    if (from_.profile.stack_caller(stack) == none<StackId>)
      owner_ = from_.keys.key_of(from_.keys.outermost(stack));
    uint32_t key = 0;
    for (uint32_t line = from_.keys.line_count(stack); line-- > 0;) {
      const TreeFrameId frame{stack, line};
      key = from_.keys.key_of(frame);
      if (on_stack_[key]++ == 0)
        outermost_[key] = frame;
      top_of(frame) = outermost_[key];
      if (!inverted_ && inside_ == 0 && wanted_[key] && !from_.is_owner(frame)) {
        beginnings_.push_back(
            {frame, owner_, key, stack, std::vector<uint64_t>(from_.weights.width(), 0)});
        inside_ = 1;
      } else if (inside_ > 0) {
        ++inside_;
      }
    }
    if (inverted_)
      begin_at_leaf(stack);
    else if (inside_ > 0 && key == beginnings_.back().key)
      add_values(beginnings_.back().self, from_.weights.self(stack));
  }
  void leave(StackId stack) {
    for (uint32_t line = 0; line < from_.keys.line_count(stack); ++line) {
      --on_stack_[from_.keys.key_of({stack, line})];
      inside_ -= inside_ > 0 ? 1 : 0;
    }
  }

private:
  struct Beginning {
    TreeFrameId frame;
    uint32_t owner = 0, key = 0;
    StackId stack = none<StackId>; // inverted: the stack whose self cost it is
    std::vector<uint64_t> self{};  // self cost of the function, also of its recursive calls below
    bool recursive = false;        // inverted: the function is several times on the stack
  };

  std::span<const uint64_t> cost_of(const Beginning &from) const {
    return inverted_ ? from_.weights.self(from.stack) : from_.weights.total(from.frame.node);
  }

  void begin_at_leaf(StackId stack) {
    if (std::ranges::all_of(from_.weights.self(stack), [](uint64_t value) { return value == 0; }))
      return;
    TreeFrameId leaf{stack, 0};
    while (from_.keys.folds(from_.keys.key_of(leaf)) && has_function(from_.keys.caller_of(leaf)))
      leaf = from_.keys.caller_of(leaf);
    const uint32_t key = from_.keys.key_of(leaf);
    if (!wanted_[key])
      return;
    const TreeFrameId top = top_of(leaf);
    beginnings_.push_back({top, owner_, key, stack, {}, top != leaf});
  }

  bool has_function(const TreeFrameId &frame) const {
    return frame.node != none<StackId> && !from_.is_owner(frame);
  }
  void add_to(Child &child, const State::Occurrence &occurrence) const {
    child.weight += weight_of(cost_of(beginnings_[occurrence.begins]), from_.units);
    child.state.occurrences.push_back(occurrence);
  }
  static std::vector<Child> take(std::map<uint32_t, Child> &groups) {
    std::vector<Child> out;
    out.reserve(groups.size());
    for (auto &[key, child] : groups)
      out.push_back(std::move(child));
    return out;
  }
  // Returns the outermost frame of the same function on the stack of a frame.
  TreeFrameId &top_of(const TreeFrameId &frame) {
    return tops_[first_top_[index_of(frame.node)] + frame.line];
  }
  const TreeFrameId &top_of(const TreeFrameId &frame) const {
    return tops_[first_top_[index_of(frame.node)] + frame.line];
  }

  const TreeSource &from_;
  bool inverted_;
  std::vector<bool> wanted_; // by key
  std::vector<Beginning> beginnings_;
  std::vector<TreeFrameId> tops_;
  std::vector<size_t> first_top_; // by node: index of its first frame in tops_

  // The state of the current stack.
  std::vector<uint32_t> on_stack_;     // by key: the number of its frames
  std::vector<TreeFrameId> outermost_; // by key
  // The number of frames since the newest of beginnings_, with its frame; 0 if the requested
  // function is not on the stack.
  uint32_t inside_ = 0;
  uint32_t owner_ = 0;
};

Result<CallTree> tree_of(const StackProfile &profile, const TreeOptions &options, CallTree tree) {
  TALLY_TRY(weights, StackWeights::of(profile));
  const FunctionKeys keys(profile, options.full);
  const std::vector<std::string> units = tree.units;
  const TreeSource source{profile, weights, keys, units, options.by.has_value()};
  if (options.callers || options.inverted)
    return build_tree<CallersState>(std::move(tree), CallersTree(source, options.inverted),
                                    options);
  TALLY_TRY(built, build_tree<uint32_t>(std::move(tree), FoldedTree(source), options));
  return with_callers(profile, options, std::move(built));
}

} // namespace

Result<CallTree> call_tree(const StackProfile &profile, const TreeOptions &options) {
  CallTree tree;
  for (const ValueType &type : profile.value_types()) {
    tree.events.emplace_back(profile.strings[type.type]);
    tree.units.emplace_back(profile.strings[type.unit]);
  }
  for (int64_t total : profile.totals())
    tree.totals.push_back(static_cast<uint64_t>(total));
  if (tree.events.empty())
    return fail(ErrorCode::no_data, "the profile has no events");
  if (!options.by)
    return tree_of(profile, options, std::move(tree));
  const bool by_part = *options.by == By::part, by_process = *options.by == By::process;
  if (by_part ? profile.parts().size() == 0 : profile.threads().size() == 0)
    return fail(ErrorCode::invalid_argument,
                fmt::format("the profile does not distinguish {}", by_part      ? "parts"
                                                                   : by_process ? "processes"
                                                                                : "threads"),
                "--by");
  TALLY_TRY(rooted, under_owners(profile, by_part      ? SampleOwner::part
                                          : by_process ? SampleOwner::process
                                                       : SampleOwner::thread));
  return tree_of(rooted, options, std::move(tree));
}

} // namespace tally
