#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally {

// Replaces control characters with '?', so that text from a file can neither end a row nor control
// the terminal.
inline std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return text;
}

// Returns whether `c` is an ASCII letter, digit or '_', independent of the locale.
constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns "2 ticks" or "1 tick". A word that is not a known English plural, such as an event's name
// from a file, is never changed.
inline std::string counted(uint64_t count, std::string_view plural) {
  const bool known = plural == "ticks" || plural == "samples" || plural == "records" ||
                     plural == "times" || plural == "files" || plural == "objects";
  if (count == 1 && known)
    plural.remove_suffix(1);
  return std::to_string(count).append(" ").append(plural);
}

} // namespace tally
