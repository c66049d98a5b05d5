#include "support/text.h"

#include "support/utf8.h"

namespace tally {

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
    const size_t length = utf8_size(rest);
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
