// Columns of text, shared by all tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

std::string_view base_name(std::string_view path);
// "file:line", else the file, else the object it was found in.
std::string place_of(std::string_view file, uint32_t line, std::string_view object);
double percent(uint64_t part, uint64_t whole); // 0 of 0 is 0

class TextTable {
public:
  void add_column(std::string title, bool right) { columns_.push_back({std::move(title), right}); }
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // limit 0: all rows. Fits `width` as far as no cell need be cut.
  std::string render(size_t limit, uint32_t width) const;

private:
  struct TextColumn {
    std::string title;
    bool right;
  };
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace tally
