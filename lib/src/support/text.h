#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tally {

// Replaces control characters and those that change the direction of writing with '?', and bytes
// that are not UTF-8 with their numbers (\xe9), so that text from a file can neither end a row nor
// control the terminal.
std::string printable(std::string text);

// Returns whether a terminal obeys a UTF-8 character of more than one byte, or shows the text
// around it in another order: the C1 controls, and Unicode's directional formatting characters (UAX
// 9).
bool is_obeyed(std::string_view character);

// Returns whether `c` is an ASCII letter, digit or '_', independent of the locale.
constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Returns the texts with `between` between each two of them. fmt::join() is not used, because all
// of fmt's formatting would be compiled into each unit that uses it.
template <class Texts> std::string joined_text(const Texts &texts, std::string_view between) {
  std::string out;
  bool first = true;
  for (const std::string_view text : texts) {
    if (!std::exchange(first, false))
      out += between;
    out += text;
  }
  return out;
}

// The plurals that counted() knows.
inline constexpr std::array<std::string_view, 17> known_plurals{
    "ticks",     "samples",   "records",  "times",     "files",  "objects",
    "functions", "waits",     "rounds",   "processes", "frames", "lines",
    "rows",      "stretches", "branches", "passes",    "parts"};

// Returns "2 ticks" or "1 tick". A word that is not a known English plural, such as an event's name
// from a file, is never changed.
inline std::string counted(uint64_t count, std::string_view plural) {
  if (count == 1 && std::ranges::count(known_plurals, plural) > 0) {
    plural.remove_suffix(1);
    for (const std::string_view hissing : {"sse", "che"}) // processes, branches
      if (plural.ends_with(hissing))
        plural.remove_suffix(1);
  }
  return std::to_string(count).append(" ").append(plural);
}

} // namespace tally
