#include "report/html/text.h"

#include <fmt/format.h>

#include "support/text.h"
#include "support/utf8.h"

namespace tally::html {

namespace {
constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

bool is_plain(unsigned char c) {
  return c >= ' ' && c < 0x7F && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}
} // namespace

void put_text(TextSink &to, std::string_view text) {
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && is_plain(static_cast<unsigned char>(text[plain])))
      ++plain;
    to.put(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty())
      return;
    size_t length = 1;
    const auto c = static_cast<unsigned char>(text[0]);
    if (c == '&')
      to.put("&amp;");
    else if (c == '<')
      to.put("&lt;");
    else if (c == '>')
      to.put("&gt;");
    else if (c == '"')
      to.put("&quot;");
    else if (c == '\'')
      to.put("&#39;");
    else if (c == '\t')
      to.put('\t');
    else if (c < ' ' || c == 0x7F) { // U+2400 … U+241F, U+2421
      to.put("\xE2\x90");
      to.put(static_cast<char>(c == 0x7F ? 0xA1 : 0x80 + c));
    } else if (length = utf8_size(text); length == 0) {
      to.put(replacement);
      length = 1;
    } else if (c == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0) { // C1 controls
      to.put(replacement);
    } else {
      to.put(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  TextSink sink(out);
  put_text(sink, text);
  sink.flush();
  return out;
}

std::string short_count(int64_t count) {
  if (count < 1000)
    return fmt::format("{}", count);
  int64_t unit = 1000;
  size_t which = 0;
  constexpr std::string_view units = "kMGTPE";
  for (; which + 1 < units.size() && count / unit >= 1000; ++which)
    unit *= 1000;
  const int64_t whole = count / unit, tenth = count / (unit / 10) % 10;
  return whole < 100 ? fmt::format("{}.{}{}", whole, tenth, units[which])
                     : fmt::format("{}{}", whole, units[which]);
}

std::string count_html(int64_t count) {
  if (count < 1000)
    return fmt::format("{}", count);
  return fmt::format("<span title={}>{}</span>", count, short_count(count));
}

} // namespace tally::html
