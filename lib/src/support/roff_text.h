// Text for man(7), the language of manual pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/utf8.h"

namespace tally {

// Returns the escape of a character that roff would interpret or replace by a similar one, or an
// empty text for all others. The names are those of groff_char(7), which mandoc knows, too.
inline std::string_view roff_escape(char c) {
  switch (c) {
  case '\\':
    return "\\(rs";
  case '-': // a hyphen otherwise, which cannot be pasted into a shell
    return "\\-";
  case '\'':
    return "\\(aq";
  case '`':
    return "\\(ga";
  case '^':
    return "\\(ha";
  case '~':
    return "\\(ti";
  case '"': // the end of a macro's argument
    return "\\(dq";
  default:
    return {};
  }
}

// Returns the source of lines that show the text as it is. A dot that begins a line is preceded by
// an invisible character, because roff would read a macro's name after it. The result is ASCII, so
// that no program needs to know its encoding. An ellipsis becomes three dots, because a terminal
// without UTF-8 shows nothing for it; a byte that is not valid UTF-8 becomes '?'.
inline std::string roff_text(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_size(text.substr(at));
    const char first = text[at];
    if (text.substr(at, size) == "\xe2\x80\xa6") {
      out += "\\&...";
    } else if (size == 1) {
      const std::string_view escape = roff_escape(first);
      if (first == '.' && (at == 0 || text[at - 1] == '\n'))
        out += "\\&.";
      else if (escape.empty())
        out += first;
      else
        out += escape;
    } else if (size == 0) {
      out += '?';
    } else {
      uint32_t code = static_cast<uint8_t>(first) & (0x7FU >> size);
      for (size_t i = 1; i < size; ++i)
        code = code << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3FU);
      // At least four digits.
      std::string digits;
      for (; code != 0 || digits.size() < 4; code >>= 4)
        digits.insert(digits.begin(), "0123456789ABCDEF"[code & 0xF]);
      out += "\\[u" + digits + "]";
    }
    at += std::max<size_t>(size, 1);
  }
  return out;
}

} // namespace tally
