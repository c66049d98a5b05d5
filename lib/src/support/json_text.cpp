#include "support/json_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "support/text.h"
#include "support/utf8.h"

namespace tally {

std::string json_text(std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; });
  if (plain) // nearly all names are plain
    return std::string(1, '"').append(text) + '"';
  const std::string json =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // JSON is shown in terminals, too. For all readers the number of a character is as good.
  std::string out;
  out.reserve(json.size());
  for (std::string_view rest = json; !rest.empty();) {
    const std::string_view character = rest.substr(0, std::max<size_t>(utf8_size(rest), 1));
    if (character == "\x7F" || is_obeyed(character)) {
      const std::string quoted = nlohmann::json(character).dump(-1, ' ', true);
      out += std::string_view(quoted).substr(1, quoted.size() - 2);
    } else {
      out += character;
    }
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
