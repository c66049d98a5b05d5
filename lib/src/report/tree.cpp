// The call tree of stacks, and both trees as text and JSON.
#include <tally/tree.h>

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/stack_walk.h"
#include "report/names.h"
#include "report/render.h"
#include "report/tree_builder.h"

namespace tally {

namespace {

// A frame: a node of the trie, and one of the lines of its location (0: the innermost).
struct Frame {
  StackId node;
  size_t line;
};
struct StackState {
  std::vector<Frame> frames;         // all that the tree's node stands for
  std::vector<StackId> weighed_from; // callers: each frame's samples are those of this node
};

class StackTree {
public:
  using Child = TreeChild<StackState>;

  StackTree(const StackProfile &profile, const StackWeights &weights, bool callers)
      : profile_(profile), weights_(weights), callers_(callers), children_(profile.stack_count()) {
    for (uint32_t i = 0; i < profile.stack_count(); ++i) {
      const auto node = static_cast<StackId>(i);
      if (weights.empty(node))
        continue;
      const StackId caller = profile.stack_caller(node);
      (caller == none<StackId> ? roots_ : children_[index_of(caller)]).push_back(node);
    }
  }

  std::vector<Child> beginnings() const {
    std::vector<Frame> frames;
    for (StackId node : roots_)
      frames.push_back(outermost(node));
    return group(frames, {});
  }

  // The outermost frames of that name: what recurs below is in them already.
  std::vector<Child> named(const FunctionMatcher &wanted) const {
    std::vector<Frame> frames, waiting;
    for (StackId node : roots_)
      waiting.push_back(outermost(node));
    while (!waiting.empty()) {
      const Frame frame = waiting.back();
      waiting.pop_back();
      if (wanted.matches(name_of(frame)))
        frames.push_back(frame);
      else
        for (const Frame &callee : callees(frame))
          waiting.push_back(callee);
    }
    std::vector<StackId> from;
    for (const Frame &frame : frames)
      from.push_back(frame.node);
    return group(frames, callers_ ? from : std::vector<StackId>());
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (const SourceFunction &function : profile_.functions())
      out.push_back(profile_.strings[function.name]);
    return out;
  }

  std::vector<Child> children(const StackState &state) const {
    std::vector<Frame> frames;
    std::vector<StackId> from;
    for (size_t i = 0; i < state.frames.size(); ++i) {
      if (!callers_) {
        for (const Frame &callee : callees(state.frames[i]))
          frames.push_back(callee);
      } else if (const Frame caller = caller_of(state.frames[i]); caller.node != none<StackId>) {
        frames.push_back(caller);
        from.push_back(state.weighed_from[i]);
      }
    }
    return group(frames, from);
  }

  TreeNode node(const StackState &state) const {
    const size_t width = weights_.width();
    const auto &[frames, from] = state;
    const auto key = key_of(frames.front());
    TreeNode node;
    node.name = key[0];
    node.file = key[1];
    node.object = key[2];
    node.self.assign(width, 0);
    node.inclusive.assign(width, 0);
    for (size_t i = 0; i < frames.size(); ++i) {
      const Frame &frame = frames[i];
      const auto total = weights_.total(from.empty() ? frame.node : from[i]);
      const auto self = weights_.self(frame.node);
      for (size_t v = 0; v < width; ++v) {
        node.inclusive[v] += total[v];
        if (frame.line == 0 && (!callers_ || from.empty() || from[i] == frame.node))
          node.self[v] += self[v];
      }
    }
    return node;
  }

private:
  size_t line_count(StackId node) const {
    return std::max<size_t>(1, profile_.location(profile_.stack_location(node)).lines.size());
  }
  Frame outermost(StackId node) const { return {node, line_count(node) - 1}; }
  std::vector<Frame> callees(const Frame &frame) const {
    if (frame.line > 0)
      return {{frame.node, frame.line - 1}};
    std::vector<Frame> out;
    for (StackId child : children_[index_of(frame.node)])
      out.push_back(outermost(child));
    return out;
  }
  Frame caller_of(const Frame &frame) const {
    if (frame.line + 1 < line_count(frame.node))
      return {frame.node, frame.line + 1};
    return {profile_.stack_caller(frame.node), 0};
  }
  const SourceFunction *function_of(const Frame &frame) const {
    const auto lines = profile_.location(profile_.stack_location(frame.node)).lines;
    return lines.empty() ? nullptr : &profile_.functions()[lines[frame.line].function];
  }
  std::string_view name_of(const Frame &frame) const {
    const SourceFunction *function = function_of(frame);
    return function ? profile_.strings[function->name] : std::string_view("[unknown]");
  }

  std::array<std::string_view, 3> key_of(const Frame &frame) const {
    const SourceFunction *function = function_of(frame);
    const auto text = [&](StringId id) { return profile_.strings[id]; };
    return {name_of(frame), function ? text(function->file) : std::string_view(),
            function ? text(function->object) : std::string_view()};
  }

  // Frames of one function become one node. `from`: whose samples count, where not the frame's.
  std::vector<Child> group(const std::vector<Frame> &frames,
                           const std::vector<StackId> &from) const {
    std::map<std::array<std::string_view, 3>, Child> groups;
    for (size_t i = 0; i < frames.size(); ++i) {
      Child &child = groups[key_of(frames[i])];
      child.weight += weights_.total(from.empty() ? frames[i].node : from[i])[0];
      child.state.frames.push_back(frames[i]);
      if (!from.empty())
        child.state.weighed_from.push_back(from[i]);
    }
    std::vector<Child> out;
    for (auto &[key, child] : groups)
      out.push_back(std::move(child));
    return out;
  }

  const StackProfile &profile_;
  const StackWeights &weights_;
  bool callers_;
  std::vector<std::vector<StackId>> children_;
  std::vector<StackId> roots_;
};

} // namespace

Result<CallTree> call_tree(const StackProfile &profile, const TreeOptions &options) {
  CallTree tree;
  for (const ValueType &type : profile.value_types())
    tree.events.emplace_back(profile.strings[type.type]);
  for (int64_t total : profile.totals())
    tree.totals.push_back(static_cast<uint64_t>(total));
  if (tree.events.empty())
    return fail(ErrorCode::no_data, "the profile counts nothing");
  TALLY_TRY(weights, StackWeights::of(profile));
  const StackTree source(profile, weights, options.callers);
  return build_tree<StackState>(std::move(tree), source, options);
}

std::string to_text(const CallTree &tree, const TextOptions &options) {
  // Deeper rows stand below each other: a very deep tree would be blanks and nothing else.
  const uint32_t most_indented = options.width > 0 ? options.width / 6 : 200;
  TextTable text;
  text.add_column("incl%", true);
  text.add_column("incl", true);
  if (!tree.callers) // of these, all is in the function below
    text.add_column("self%", true);
  text.add_column(tree.callers ? "function, and its callers below it" : "function", false);
  text.add_column("place", false);
  bool estimated = false;
  const uint64_t total = tree.totals[0];
  for (const TreeNode &node : tree.nodes) {
    estimated |= node.estimated;
    const std::string_view mark = node.estimated ? "~" : "";
    std::vector<std::string> cells{
        fmt::format("{}{:.2f}%", mark, percent(node.inclusive[0], total)),
        fmt::format("{}{}", mark, node.inclusive[0])};
    if (!tree.callers)
      cells.push_back(fmt::format("{:.2f}%", percent(node.self[0], total)));
    cells.push_back(fmt::format("{:>{}}{}{}", "", 2 * std::min(node.depth, most_indented),
                                node.name, node.recursive ? " (recursive)" : ""));
    cells.push_back(place_of(node.file, 0, node.object));
    text.add_row(std::move(cells));
  }
  std::string out = fmt::format("{} {} in total\n", total, tree.events[0]);
  if (estimated)
    out += tree.callers ? "~: spread over callers as in all calls (the file has no stacks)\n"
                        : "~: spread over callees as in all calls (the file has no stacks)\n";
  out += text.render(0, options.width);
  if (tree.left_out > 0)
    out += tree.nodes.size() < most_tree_nodes
               ? fmt::format("(lighter branches: {}; --limit 0 shows all)\n", tree.left_out)
               : fmt::format("(lighter branches: {}; no more than {} rows are shown)\n",
                             tree.left_out, most_tree_nodes);
  return out;
}

// Not as one Json: a tree may be deeper than its dump() can recurse.
std::string to_json(const CallTree &tree) {
  using Json = nlohmann::ordered_json;
  const auto open_object = [](const Json &fields) { // without its closing brace
    std::string text = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.pop_back();
    return text;
  };
  std::string out = open_object({{"events", tree.events}, {"totals", tree.totals}}) + ",\"tree\":[";
  size_t open = 0; // nodes whose children are being written
  bool first = true;
  for (const TreeNode &node : tree.nodes) {
    for (; open > node.depth; --open) {
      out += "]}";
      first = false;
    }
    if (!first)
      out += ',';
    out += open_object({{"name", node.name},
                        {"file", node.file},
                        {"object", node.object},
                        {"self", node.self},
                        {"inclusive", node.inclusive},
                        {"calls", node.calls},
                        {"estimated", node.estimated},
                        {"recursive", node.recursive}});
    out += ",\"children\":[";
    ++open;
    first = true;
  }
  for (; open > 0; --open)
    out += "]}";
  return out + fmt::format("],\"left_out\":{}}}\n", tree.left_out);
}

} // namespace tally
