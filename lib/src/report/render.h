// Columns of text, shared by all tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tally/report.h>

namespace tally {

// "file:line", else the file, else the object it was found in.
std::string place_of(std::string_view file, uint32_t line, std::string_view object);
// Of UTF-8; each character takes one column.
inline bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }
size_t display_width(std::string_view text);
// A name wider than that loses its template arguments, and then its parameters: "map<…>::at(…)".
std::string short_name(std::string_view name, size_t width);
std::string first_columns(std::string_view text, size_t width); // "…" where there was more
double percent(uint64_t part, uint64_t whole);                  // 0 of 0 is 0
double self_percent(const FlatRow &row, uint64_t total);        // of the first event

std::string expand_tabs(std::string_view text); // to columns of 8

class TextTable {
public:
  // The column that gives way holds no names but text: it is cut, not shortened.
  void cut_text() { cut_ = true; }
  void add_column(std::string title, bool right, Role role = Role::plain) {
    columns_.push_back({std::move(title), right, role});
  }
  void add_row(std::vector<std::string> cells);
  // Rows behind a rule before the total, shown whatever the limit is.
  void add_subtotal(std::vector<std::string> cells);
  // A last row behind a rule, shown whatever the limit is.
  void add_total(std::vector<std::string> cells);
  // The last column, which holds text, gives way in place of the first with names.
  void let_last_give_way() { last_gives_way_ = true; }
  // Rows that are not even added, for render() shows no more than its limit.
  void leave_out(size_t rows) { left_out_ += rows; }
  // limit 0: all rows; width 0: nothing is shortened. Of the columns only the first of texts, where
  // names stand, gives way: they are shortened, and where that is not enough run over.
  std::string render(size_t limit, uint32_t width, const Style &style = {}) const;

private:
  struct TextColumn {
    std::string title;
    bool right;
    Role role;
  };
  bool cut_ = false, last_gives_way_ = false;
  size_t left_out_ = 0;
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::vector<std::string>> subtotals_;
  std::vector<std::string> total_; // empty: none
};

} // namespace tally
