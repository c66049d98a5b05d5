#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally {

// Control characters become '?': text from a file must not end a row, nor command the terminal.
inline std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return text;
}

// An ASCII letter, digit or '_', whatever the locale.
constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "2 ticks", "1 tick". Of a word that is not known to be an English plural, such as an event's name
// from a file, there is one form.
inline std::string counted(uint64_t count, std::string_view plural) {
  const bool known =
      plural == "ticks" || plural == "samples" || plural == "records" || plural == "times";
  if (count == 1 && known)
    plural.remove_suffix(1);
  return std::to_string(count).append(" ").append(plural);
}

} // namespace tally
