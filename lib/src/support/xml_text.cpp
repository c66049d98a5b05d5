#include "support/xml_text.h"

#include <algorithm>

#include "support/utf8.h"

namespace tally {

namespace {

// Returns the size of the first character, or 0 if XML 1.0 excludes it or the writer avoids it:
// bytes that are not UTF-8, control characters, U+FFFE, U+FFFF.
size_t character_size(std::string_view text) {
  const size_t size = utf8_size(text);
  const bool control = size == 1 && (text[0] < ' ' || text[0] == 0x7F);
  const bool none =
      size == 3 && (text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF"));
  return control || none ? 0 : size;
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
