// What the positions of a cost profile carry, in Callgrind's words.
#pragma once

#include <string>

#include <tally/cost_profile.h>

namespace tally {

// A row has a position in any case: where it carries nothing, that is line 0.
inline bool carries_lines(const CostProfile &p) {
  return p.has_lines || (!p.has_addresses && !p.has_basic_blocks);
}

// "instr bb line", what is carried of it.
inline std::string position_words(const CostProfile &p) {
  std::string words;
  const auto add = [&](bool carried, const char *word) {
    if (carried)
      words.append(words.empty() ? "" : " ").append(word);
  };
  add(p.has_addresses, "instr");
  add(p.has_basic_blocks, "bb");
  add(carries_lines(p), "line");
  return words;
}

} // namespace tally
