// Describes which kinds of positions a cost profile has, in Callgrind's terms.
#pragma once

#include <string>

#include "model/cost_profile.h"

namespace tally {

// Every row has a position: if the profile has no kind of position, that is line 0.
inline bool carries_lines(const CostProfile &p) {
  return p.has_lines || (!p.has_addresses && !p.has_basic_blocks);
}

// Returns the words for the kinds of positions that the profile has: "instr bb line" if it has all.
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
