#pragma once

#include <algorithm>
#include <string>

namespace tally {

// Control characters become '?': text from a file must not end a row, nor command the terminal.
inline std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return text;
}

} // namespace tally
