// The rows of `profile status`, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/style.h"
#include "support/json_out.h"

namespace tally {

// One row: its name and its value.
struct StatusRow {
  StatusRow(std::string_view row, std::string shown);
  StatusRow(std::string_view row, uint64_t count);
  // Returns a row whose JSON key is "NAME_s", with the number of seconds, or "NAME_bytes".
  static StatusRow seconds(std::string_view row, uint64_t ns, std::string shown);
  static StatusRow bytes(std::string_view row, uint64_t count, std::string shown);
  // Splits "VALUE (NOTE)"; the JSON key of the note is "NAME_note".
  static StatusRow noted(std::string_view row, std::string_view shown);
  StatusRow with_note(std::string_view text_of_note) &&;

  std::string name, text;
  std::string key; // in JSON
  std::variant<std::string, uint64_t, double> value;
  std::string note;
};

std::string to_text(const std::vector<StatusRow> &rows, const Style &style); // a line for each
std::string to_json(const std::vector<StatusRow> &rows);                     // an object, as a line
JsonOut to_json_object(const std::vector<StatusRow> &rows);

} // namespace tally
