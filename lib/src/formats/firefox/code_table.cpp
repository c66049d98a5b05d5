#include "formats/firefox/code_table.h"

#include "support/hash.h"
#include "support/id_table.h"

namespace tally::firefox {

Result<CodeTable> CodeTable::of(const StackProfile &profile, const FrameTree &tree) {
  CodeTable out;
  IdTable frame_ids, node_ids;
  const auto hash_of_frame = [](const CodeFrame &frame) {
    return combine((uint64_t{frame.function} << 32) | frame.line, frame.inline_depth);
  };
  const auto hash_of_node = [](const Node &node) {
    return mix((uint64_t{node.caller} << 32) | node.frame);
  };
  const auto push = [&](uint32_t caller, const CodeFrame &frame) {
    const auto [frame_id, new_frame] = frame_ids.find_or_add(
        hash_of_frame(frame), static_cast<uint32_t>(out.frames_.size()),
        [&](uint32_t id) { return out.frames_[id] == frame; },
        [&](uint32_t id) { return hash_of_frame(out.frames_[id]); });
    if (new_frame)
      out.frames_.push_back(frame);
    const Node node{caller, frame_id};
    const auto [node_id, new_node] = node_ids.find_or_add(
        hash_of_node(node), static_cast<uint32_t>(out.nodes_.size()),
        [&](uint32_t id) {
          return out.nodes_[id].caller == node.caller && out.nodes_[id].frame == node.frame;
        },
        [&](uint32_t id) { return hash_of_node(out.nodes_[id]); });
    if (new_node)
      out.nodes_.push_back(node);
    return node_id;
  };
  out.leaves_.reserve(profile.stack_count());
  for (uint32_t i = 0; i < profile.stack_count(); ++i) { // callers precede their callees
    const auto stack = static_cast<StackId>(i);
    const StackId caller = profile.stack_caller(stack);
    uint32_t node = caller == none<StackId> ? none<uint32_t> : out.leaves_[index_of(caller)];
    const auto lines = profile.location(profile.stack_location(stack)).lines;
    if (out.nodes_.size() + lines.size() >= none<uint32_t> / 2)
      return fail(ErrorCode::overflow, "the profile has more frames than 32 bits can count");
    if (lines.empty())
      node = push(node, {tree.unknown_frame(), 0, 0});
    for (size_t at = lines.size(); at-- > 0;) {
      const SourceLine &line = lines[at];
      const StringId file = profile.functions()[line.function].file;
      const bool is_elsewhere = line.line != 0 && line.file != file && line.file != StringId{};
      out.lost_lines_ |= is_elsewhere;
      node = push(node, {tree.frame_of(line.function), is_elsewhere ? 0 : line.line,
                         static_cast<uint32_t>(lines.size() - 1 - at)});
    }
    out.leaves_.push_back(node);
  }
  out.stackless_ = push(none<uint32_t>, {tree.unknown_frame(), 0, 0});
  return out;
}

bool CodeTable::is_before(uint32_t a, uint32_t b) const {
  for (; a != b && a != none<uint32_t> && b != none<uint32_t>;
       a = nodes_[a].caller, b = nodes_[b].caller) {
    const CodeFrame &first = frames_[nodes_[a].frame], &second = frames_[nodes_[b].frame];
    if (first.line != second.line)
      return first.line < second.line;
    if (first.inline_depth != second.inline_depth)
      return first.inline_depth < second.inline_depth;
  }
  return false;
}

} // namespace tally::firefox
