// Converts UTF-16 to UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tally {

// Returns whether the bytes begin with UTF-16's byte order mark.
inline bool begins_utf16(std::string_view bytes) {
  return bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF");
}

// Converts bytes that begin with the mark. An unpaired surrogate, and half a unit at the end,
// becomes U+FFFD.
inline std::string utf8_of_utf16(std::string_view bytes) {
  const size_t high = bytes.starts_with("\xFE\xFF") ? 0 : 1; // offset of a unit's high byte
  constexpr uint32_t replacement = 0xFFFD;
  const auto unit = [&](size_t at) {
    return static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + high]) << 8 |
                                 static_cast<unsigned char>(bytes[at + 1 - high]));
  };
  std::string out;
  const auto add = [&](uint32_t code) {
    const auto byte = [&](uint32_t value) { out += static_cast<char>(value); };
    const auto rest = [&](unsigned shift) { byte(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
      byte(code);
    } else if (code < 0x800) {
      byte(0xC0 | code >> 6);
      rest(0);
    } else if (code < 0x10000) {
      byte(0xE0 | code >> 12);
      rest(6);
      rest(0);
    } else {
      byte(0xF0 | code >> 18);
      rest(12);
      rest(6);
      rest(0);
    }
  };
  size_t at = 2;
  for (; at + 1 < bytes.size(); at += 2) {
    const uint32_t first = unit(at);
    if (first < 0xD800 || first > 0xDFFF) {
      add(first);
      continue;
    }
    const uint32_t second = first < 0xDC00 && at + 3 < bytes.size() ? unit(at + 2) : 0;
    if (second < 0xDC00 || second > 0xDFFF) {
      add(replacement);
      continue;
    }
    add(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
    at += 2;
  }
  if (at < bytes.size())
    add(replacement);
  return out;
}

} // namespace tally
