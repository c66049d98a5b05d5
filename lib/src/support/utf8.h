// Examines text that may or may not be UTF-8.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally {

// Returns the size of the character at the beginning of the text (Unicode 15, table 3-7), or 0 if
// no valid character begins there or the text is empty.
inline size_t utf8_size(std::string_view text) {
  const auto byte = [&](size_t at) -> uint8_t {
    return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0};
  };
  const auto continues = [&](size_t at) { return (byte(at) & 0xC0) == 0x80; };
  const uint8_t first = byte(0), second = byte(1);
  if (first < 0x80)
    return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF)
    return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool in_range = !(first == 0xE0 && second < 0xA0) && !(first == 0xED && second >= 0xA0);
    return in_range && continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool in_range = !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second >= 0x90);
    return in_range && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

} // namespace tally
