#include "transform/frame_tree.h"

#include <algorithm>
#include <numeric>

#include "support/hash.h"
#include "support/id_table.h"
#include "support/trie_walk.h"

namespace tally {

Result<FrameTree> FrameTree::of(const StackProfile &profile) {
  FrameTree tree;
  tree.name_frames(profile);
  TALLY_CHECK(tree.add_nodes(profile));
  tree.put_in_order();
  return tree;
}

void FrameTree::name_frames(const StackProfile &profile) {
  constexpr std::string_view unknown = "[unknown]";
  std::vector<TreeFrame> all;
  for (const SourceFunction &function : profile.functions()) {
    const auto text = [&](StringId id) { return profile.strings[id]; };
    const std::string_view name = text(function.name);
    all.push_back(
        {name.empty() ? unknown : name, text(function.file), text(function.object), function.line});
  }
  all.push_back({unknown, {}, {}, 0});
  frames_ = all;
  std::ranges::sort(frames_);
  frames_.erase(std::unique(frames_.begin(), frames_.end()), frames_.end());
  for (const TreeFrame &frame : all)
    frame_of_.push_back(
        static_cast<uint32_t>(std::ranges::lower_bound(frames_, frame) - frames_.begin()));
  unknown_ = frame_of_.back();
}

Result<void> FrameTree::add_nodes(const StackProfile &profile) {
  IdTable table;
  const auto hash = [](const Node &node) {
    return mix((uint64_t{node.parent} << 32) | node.frame);
  };
  const auto child = [&](uint32_t parent, uint32_t frame, bool inlined) {
    const Node wanted{parent, frame, parent == none<uint32_t> ? 0 : nodes_[parent].depth + 1,
                      inlined};
    const auto [node, is_new] = table.find_or_add(
        hash(wanted), size(),
        [&](uint32_t id) { return nodes_[id].parent == parent && nodes_[id].frame == frame; },
        [&](uint32_t id) { return hash(nodes_[id]); });
    if (is_new)
      nodes_.push_back(wanted);
    else
      nodes_[node].inlined &= inlined;
    return node;
  };
  leaves_.reserve(profile.stack_count());
  for (uint32_t i = 0; i < profile.stack_count(); ++i) { // callers precede their callees
    const auto stack = static_cast<StackId>(i);
    const StackId caller = profile.stack_caller(stack);
    uint32_t node = caller == none<StackId> ? none<uint32_t> : leaves_[index_of(caller)];
    const auto lines = profile.location(profile.stack_location(stack)).lines;
    if (nodes_.size() + lines.size() >= none<uint32_t> / 2)
      return fail(ErrorCode::overflow, "the profile has more frames than 32 bits can count");
    if (lines.empty())
      node = child(node, unknown_, false);
    for (size_t line = lines.size(); line-- > 0;)
      node = child(node, frame_of_[index_of(lines[line].function)], line + 1 < lines.size());
    leaves_.push_back(node);
  }
  for (size_t row = 0; row < profile.sample_count() && stackless_ == none<uint32_t>; ++row)
    if (profile.sample(row).stack == none<StackId>)
      stackless_ = child(none<uint32_t>, unknown_, false);
  return {};
}

void FrameTree::put_in_order() {
  std::vector<uint32_t> by_frame(size());
  std::iota(by_frame.begin(), by_frame.end(), 0U);
  std::ranges::sort(by_frame, {}, [&](uint32_t node) { return nodes_[node].frame; });
  std::vector<uint32_t> new_id(size());
  std::vector<Node> ordered;
  ordered.reserve(nodes_.size());
  constexpr uint32_t end = none<uint32_t>;
  const auto enter = [&](uint32_t node) {
    new_id[node] = static_cast<uint32_t>(ordered.size());
    ordered.push_back(nodes_[node]);
    if (ordered.back().parent != end)
      ordered.back().parent = new_id[ordered.back().parent];
  };
  walk_trie(
      size(), by_frame, [&](uint32_t node) { return nodes_[node].parent; }, enter, [](uint32_t) {});
  nodes_ = std::move(ordered);
  for (uint32_t &leaf : leaves_)
    leaf = new_id[leaf];
  if (stackless_ != end)
    stackless_ = new_id[stackless_];
}

} // namespace tally
