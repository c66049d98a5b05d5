#include "formats/firefox/thread_tables.h"

namespace tally::firefox {

uint32_t ThreadTables::stack(uint32_t node, uint32_t category, uint32_t caller_category) {
  // Add the callers that are new, from the outermost one on.
  std::vector<uint32_t> chain;
  uint32_t prefix = none<uint32_t>;
  const auto key = [](uint32_t id, uint32_t of) { return (uint64_t{id} << 8) | of; };
  for (uint32_t at = node; at != none<uint32_t>; at = code_.node(at).caller)
    chain.push_back(at);
  for (size_t i = chain.size(); i-- > 0;) {
    const uint32_t of = i == 0 ? category : caller_category;
    const auto [row, is_new] = stack_keys_.number(key(chain[i], of));
    if (is_new) {
      const uint32_t id = code_.node(chain[i]).frame;
      const auto [frame, new_frame] = frame_keys_.number(key(id, of));
      if (new_frame) {
        const CodeFrame &from = code_.frame(id);
        frames_.push_back(
            {functions_.number(from.function).first, from.line, of, from.inline_depth});
      }
      stacks_.push_back({frame, prefix, of});
    }
    prefix = row;
  }
  return prefix;
}

} // namespace tally::firefox
