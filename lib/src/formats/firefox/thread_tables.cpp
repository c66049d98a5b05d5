#include "formats/firefox/thread_tables.h"

namespace tally::firefox {

uint32_t ThreadTables::stack(uint32_t node, uint32_t category, uint32_t caller_category) {
  const auto key = [&](uint32_t at) {
    return (uint64_t{at} << 8) | (at == node ? category : caller_category);
  };
  // The callers of a known row have rows. The others are added from the outermost one on.
  std::vector<uint32_t> chain;
  std::optional<uint32_t> known;
  for (uint32_t at = node; at != none<uint32_t>; at = code_.node(at).caller) {
    known = stack_keys_.find(key(at));
    if (known)
      break;
    chain.push_back(at);
  }
  uint32_t prefix = known.value_or(none<uint32_t>);
  for (size_t i = chain.size(); i-- > 0;) {
    const uint32_t of = i == 0 ? category : caller_category;
    const uint32_t id = code_.node(chain[i]).frame;
    const auto [frame, new_frame] = frame_keys_.number((uint64_t{id} << 8) | of);
    if (new_frame) {
      const CodeFrame &from = code_.frame(id);
      frames_.push_back({functions_.number(from.function).first, from.line, of, from.inline_depth});
    }
    stacks_.push_back({frame, prefix, of});
    prefix = stack_keys_.number(key(chain[i])).first;
  }
  return prefix;
}

} // namespace tally::firefox
