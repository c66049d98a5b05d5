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

} // namespace tally
