#include "support/json_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/text.h"

namespace tally {

std::string json_text(std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; });
  if (plain) // nearly all names are plain
    return std::string(1, '"').append(text) + '"';
  const std::string json =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // JSON is shown in terminals, too. Numbers of characters are as good there for all readers.
  std::string out;
  out.reserve(json.size());
  for (std::string_view rest = json; !rest.empty();) {
    const std::string_view character = rest.substr(0, std::max<size_t>(utf8_length(rest), 1));
    const auto low = [&](size_t i) { return static_cast<unsigned char>(character[i]) & 0x3FU; };
    if (character.size() == 3 && is_obeyed(character))
      out += fmt::format("\\u{:04x}", 0x2000U | low(1) << 6 | low(2));
    else if (character.size() == 2 && is_obeyed(character))
      out += fmt::format("\\u{:04x}",
                         (static_cast<unsigned char>(character[0]) & 0x1FU) << 6 | low(1));
    else if (character == "\x7F")
      out += "\\u007f";
    else
      out += character;
    rest.remove_prefix(character.size());
  }
  return out;
}

std::string json_text(double number) { return nlohmann::json(number).dump(); }

bool is_replaced(std::string_view text, std::string_view json) {
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  return json.find(replacement) != json.npos && text.find(replacement) == text.npos;
}

std::string json_text(std::string_view text, bool &changed) {
  std::string json = json_text(text);
  changed |= is_replaced(text, json);
  return json;
}

bool skip_json(std::string_view &text, std::string_view token) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const bool is_next = text.starts_with(token);
  text.remove_prefix(is_next ? token.size() : 0);
  return is_next;
}

} // namespace tally
