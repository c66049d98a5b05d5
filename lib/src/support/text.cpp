#include "support/text.h"

namespace tally {

// Implements table 3-7 of Unicode 15, which excludes overlong forms, surrogates and everything
// beyond U+10FFFF.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80)
    return 1;
  if (first >= 0xC2 && first <= 0xDF)
    return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool fits =
        follows(1) && (first != 0xE0 || second >= 0xA0) && (first != 0xED || second < 0xA0);
    return fits && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool fits =
        follows(1) && (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
    return fits && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_obeyed(std::string_view character) {
  if (character.size() == 2)
    return (character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0) ||
           character == "\xD8\x9C";
  for (const std::string_view each :
       {"\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC",
        "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA7", "\xE2\x81\xA8",
        "\xE2\x81\xA9", "\xE2\x80\xA8", "\xE2\x80\xA9"}) // the last two end a line
    if (character == each)
      return true;
  return false;
}

std::string printable(std::string text) {
  size_t at = 0;
  const auto is_plain = [](char c) { return c >= ' ' && c < '\x7F'; };
  while (at < text.size() && is_plain(text[at]))
    ++at;
  if (at == text.size())
    return text;
  std::string out = text.substr(0, at);
  for (std::string_view rest = std::string_view(text).substr(at); !rest.empty();) {
    const size_t length = utf8_length(rest);
    if (length == 0) { // as GDB's Python shows it
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(rest[0]);
      out += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view character = rest.substr(0, length);
    out += (length == 1 ? is_plain(rest[0]) : !is_obeyed(character)) ? character : "?";
    rest.remove_prefix(length);
  }
  return out;
}

} // namespace tally
