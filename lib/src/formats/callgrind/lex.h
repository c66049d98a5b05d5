// Reads the tokens of a line. Every line ends in '\n', which is neither a digit nor a blank nor a
// sign, so no function checks for the end of the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tally::callgrind {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline const char *skip_blanks(const char *p) {
  while (is_blank(*p))
    ++p;
  return p;
}

// Returns whether `p` is at the end of the line, or at the CRs directly before it.
inline bool at_end(const char *p) {
  while (*p == '\r')
    ++p;
  return *p == '\n';
}

inline const char *line_end(const char *p) {
  return static_cast<const char *>(
      std::memchr(p, '\n', std::numeric_limits<std::ptrdiff_t>::max()));
}

enum class NumberFault : uint8_t { none, not_a_number, too_large };

inline int hex_digit(char c) {
  if (is_digit(c))
    return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

NumberFault take_rare_number(const char *&p, uint64_t &value);

// Reads "123" or "0x7b" and moves `p` past it. On a fault, `p` and `value` stay unchanged.
inline NumberFault take_number(const char *&p, uint64_t &value) {
  if (!is_digit(*p))
    return NumberFault::not_a_number;
  const char *q = p;
  uint64_t sum = 0;
  do
    sum = sum * 10 + static_cast<uint64_t>(*q - '0');
  while (is_digit(*++q));
  if (q - p > 19 || *q == 'x' || *q == 'X')
    return take_rare_number(p, value);
  p = q;
  value = sum;
  return NumberFault::none;
}

} // namespace tally::callgrind
