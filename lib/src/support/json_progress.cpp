#include "support/json_progress.h"

#include <fmt/format.h>

namespace tally {

size_t json_value_offset(std::string_view text, size_t end) {
  size_t at = end;
  const auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '-' || c == '+' ||
           c == '.';
  };
  if (at == 0)
    return 0;
  --at;
  if (text[at] == '"' && at > 0) {
    const auto escaped = [&](size_t quote) {
      size_t slashes = 0;
      while (slashes < quote && text[quote - 1 - slashes] == '\\')
        ++slashes;
      return slashes % 2 == 1;
    };
    do
      --at;
    while (at > 0 && (text[at] != '"' || escaped(at)));
    return at;
  }
  if (!is_word(text[at]) && at > 0 && is_word(text[at - 1]))
    --at;
  while (is_word(text[at]) && at > 0 && is_word(text[at - 1]))
    --at;
  return at;
}

JsonProgress::Fault JsonProgress::fault(int id, std::string_view what) const {
  constexpr int number_too_large = 406;
  if (id == number_too_large)
    return {json_value_offset(text_, offset()), "the number is too large"};
  const size_t at = offset();
  if (at >= text_.size() &&
      (what.find("end of input") != what.npos || what.find("missing closing quote") != what.npos))
    return {text_.size(), "truncated: the JSON does not end"};
  const size_t bad = at == 0 ? 0 : at - 1;
  return {bad, fmt::format("is not JSON here: found '{}'", text_.substr(bad, 20))};
}

} // namespace tally
