// The words of a choice, as help texts show them: "a|b|c".
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace tally {

inline std::vector<std::string_view> alternatives(std::string_view words) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t bar = std::min(words.find('|'), words.size());
    out.push_back(words.substr(0, bar));
    if (bar == words.size())
      return out;
    words.remove_prefix(bar + 1);
  }
}

} // namespace tally
