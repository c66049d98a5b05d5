#include "report/markdown.h"

#include <cctype>

#include <fmt/format.h>

#include "support/text.h"

namespace tally {

namespace {

// Keeps letters, digits and the characters of `plain`.
std::string without_markup(std::string_view text, std::string_view plain) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool kept = byte >= 0x80 || std::isalnum(byte) || plain.find(c) != plain.npos;
    out += kept ? std::string(1, c) : fmt::format("&#{};", int{byte});
  }
  return out;
}

} // namespace

// A backtick would end the code span, and a '|' would end the cell of the table even inside of it,
// so names with such characters are written as HTML with numeric character references.
std::string markdown_name(std::string_view name) {
  const std::string text = printable(std::string(name));
  if (!text.empty() && text.find_first_of("`|\\") == text.npos && text.front() != ' ' &&
      text.back() != ' ')
    return '`' + text + '`';
  return "<code>" + without_markup(text, "/. ") + "</code>";
}

std::string markdown_text(std::string_view text) {
  return without_markup(printable(std::string(text)), "/. ,:;%()=+-'");
}

} // namespace tally
