#include "support/xml_text.h"

#include <algorithm>
#include <cstdint>

namespace tally {

namespace {

// The size of the character that the text begins with (Unicode 15, table 3-7); 0: it begins with
// none, or with one that XML 1.0 leaves out: surrogates, U+FFFE, U+FFFF.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t at) -> uint8_t {
    return at < text.size() ? static_cast<uint8_t>(text[at]) : uint8_t{0};
  };
  const auto continues = [&](size_t at) { return (byte(at) & 0xC0) == 0x80; };
  const uint8_t first = byte(0), second = byte(1);
  if (first < 0x80)
    return first >= ' ' && first != 0x7F ? 1 : 0;
  if (first >= 0xC2 && first <= 0xDF)
    return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(1) || !continues(2) || (first == 0xE0 && second < 0xA0) ||
        (first == 0xED && second >= 0xA0))
      return 0;
    return first == 0xEF && second == 0xBF && byte(2) >= 0xBE ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool in_range = !(first == 0xF0 && second < 0x90) && !(first == 0xF4 && second >= 0x90);
    return in_range && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

} // namespace

std::string xml_text(std::string_view text, bool &changed) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0) {
      out += '?';
      changed = true;
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

} // namespace tally
