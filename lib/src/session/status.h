// The lines of `profile status`, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tally {

// One line: its name, and what is shown behind it.
struct StatusRow {
  StatusRow(std::string_view row, std::string shown);
  StatusRow(std::string_view row, uint64_t count);
  // In JSON "NAME_s", a number of seconds, and "NAME_bytes".
  static StatusRow seconds(std::string_view row, uint64_t ns, std::string shown);
  static StatusRow bytes(std::string_view row, uint64_t count, std::string shown);
  // "VALUE (NOTE)": in JSON the note is "NAME_note".
  static StatusRow noted(std::string_view row, std::string_view shown);
  StatusRow with_note(std::string_view text_of_note) &&;

  std::string name, text;
  std::string key; // of JSON
  std::variant<std::string, uint64_t, double> value;
  std::string note;
};

std::string to_json(const std::vector<StatusRow> &rows);

} // namespace tally
