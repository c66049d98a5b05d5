#include "support/json_text.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace tally {

std::string json_text(std::string_view text) {
  const bool plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < 0x7F && c != '"' && c != '\\'; });
  if (plain) // nearly all names are plain
    return std::string(1, '"').append(text) + '"';
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
