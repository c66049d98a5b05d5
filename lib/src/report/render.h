// Formats the text tables of all reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace tally {

// Returns "file:line", or the file if the line is unknown, or the object if both are unknown. For
// an unknown file with a line it returns "???:line (object)".
std::string location_of(std::string_view file, uint32_t line, std::string_view object);
// Returns whether a byte of UTF-8 begins a character. Each character counts as one column.
inline bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }
size_t display_width(std::string_view text);
// Shortens a name that is wider than `width`: it loses all template arguments but the first of each
// list, then its parameters, then all template arguments: "map<int, …>::at(key<…>)", "map<int,
// …>::at(…)", "map<…>::at(…)". The result may still be wider.
std::string short_name(std::string_view name, size_t width);
std::string first_columns(std::string_view text, size_t width); // ends in "…" if it is shortened
double percent(uint64_t part, uint64_t whole);                  // 0 if `whole` is 0
double self_percent(const FlatRow &row, uint64_t total);        // of the first event

std::string expand_tabs(std::string_view text); // with tab stops every 8 columns

// The columns that names of functions have where the width is not limited.
constexpr size_t widest_name = 80;

class TextTable {
public:
  // Makes render() cut off the end of cells in the flexible column instead of calling short_name().
  // Call this if the column contains text and not names.
  void cut_text() { cut_ = true; }
  // Makes render() shorten the names in the flexible column where the width is not limited, too,
  // unless the options ask for full names.
  void shorten_names() { shortens_names_ = true; }
  void add_column(std::string title, bool right, Role role = Role::plain) {
    columns_.push_back({std::move(title), right, role});
  }
  void add_row(std::vector<std::string> cells);
  // Adds a row after a rule, before the total. The limit does not apply to it.
  void add_subtotal(std::vector<std::string> cells);
  // Sets the last row, which is after a rule. The limit does not apply to it.
  void add_total(std::vector<std::string> cells);
  // Makes the last column, which contains text, the flexible one.
  void let_last_give_way() { last_gives_way_ = true; }
  // The same, but a cell that is too wide is continued below, after a blank, in up to `most` lines
  // altogether (0 means all).
  void wrap_last(size_t most) {
    last_gives_way_ = true;
    most_lines_ = most == 0 ? SIZE_MAX : most;
  }
  // Counts rows that are not added because they are beyond the limit.
  void leave_out(size_t rows) { left_out_ += rows; }
  // Returns the table. If the width is not limited, nothing but names is shortened, to widest_name
  // columns. Only the flexible column is shortened. By default, the flexible column
  // is the first left-aligned column, which contains names. A name that is still too wide after
  // shortening overruns its column.
  std::string render(const TextOptions &options) const;

private:
  struct TextColumn {
    std::string title;
    bool right;
    Role role;
  };
  bool cut_ = false, last_gives_way_ = false, shortens_names_ = false;
  size_t left_out_ = 0, most_lines_ = 1;
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::vector<std::string>> subtotals_;
  std::vector<std::string> total_; // empty if there is none
};

} // namespace tally
