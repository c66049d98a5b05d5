// Encodes and decodes the names of tests in TN:.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "support/text.h"

namespace tally::lcov {

// Returns the value of an upper-case hexadecimal digit, or -1 for another character.
inline int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

inline bool begins_escape(std::string_view text) {
  return text.size() >= 4 && text.starts_with("_x") && hex_digit(text[2]) >= 0 &&
         hex_digit(text[3]) >= 0;
}

// Encodes a name. lcov keeps letters, digits and '_' of a test's name, and replaces others by '_'.
// Therefore every other byte is written as "_xHH", where HH is its value in upper-case hexadecimal
// digits. A '_' that begins such a pattern in the name itself is encoded as well, so that decoding
// is exact.
inline std::string written_test_name(std::string_view name) {
  std::string out;
  for (size_t at = 0; at < name.size(); ++at)
    if (is_word_character(name[at]) && !begins_escape(name.substr(at)))
      out += name[at];
    else
      out += fmt::format("_x{:02X}", static_cast<unsigned char>(name[at]));
  return out;
}

// Decodes a name. If a `_xHH` stands for a letter, a digit or a '_' that needs no encoding, another
// tool wrote it, so it is kept.
inline std::string read_test_name(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const char byte =
        begins_escape(rest) ? static_cast<char>(hex_digit(rest[2]) * 16 + hex_digit(rest[3])) : 'x';
    // A '_' is encoded only if it begins the pattern together with the text after it.
    const bool escaped = !is_word_character(byte) ||
                         (byte == '_' && begins_escape('_' + std::string(rest.substr(4, 3))));
    if (begins_escape(rest) && escaped) {
      out += byte;
      at += 3;
    } else {
      out += text[at];
    }
  }
  return out;
}

} // namespace tally::lcov
