// Names of tests behind TN:.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "support/text.h"

namespace tally::lcov {

// Of a capital hexadecimal digit; -1: of another character.
inline int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

inline bool begins_escape(std::string_view text) {
  return text.size() >= 4 && text.starts_with("_x") && hex_digit(text[2]) >= 0 &&
         hex_digit(text[3]) >= 0;
}

// lcov keeps letters, digits and '_' of a test's name, and makes '_' of all others. Any other byte
// is written as "_xHH", its value in capital hexadecimal digits. So is a '_' that begins the same
// pattern in the name itself: what is read back is what was written.
inline std::string written_test_name(std::string_view name) {
  std::string out;
  for (size_t at = 0; at < name.size(); ++at)
    if (is_word_character(name[at]) && !begins_escape(name.substr(at)))
      out += name[at];
    else
      out += fmt::format("_x{:02X}", static_cast<unsigned char>(name[at]));
  return out;
}

// What other tools write stays as it is. A `_xHH` that encodes a letter, a digit or a plain `_` was
// not written here, so it is kept.
inline std::string read_test_name(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const char byte =
        begins_escape(rest) ? static_cast<char>(hex_digit(rest[2]) * 16 + hex_digit(rest[3])) : 'x';
    // An escaped '_' is one that would begin the pattern with what follows it.
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
