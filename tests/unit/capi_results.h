// Takes apart what functions of tally.h return.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <tally.h>

namespace tally {

// Returns the text of an error, and frees it.
inline std::string take(tally_error *error) {
  EXPECT_NE(error, nullptr);
  if (!error)
    return {};
  std::string text = tally_error_text(error);
  tally_error_free(error);
  return text;
}

inline std::vector<std::string> texts(const tally_table *table, size_t column) {
  std::vector<std::string> out;
  for (size_t i = 0; i < tally_table_rows(table); ++i)
    out.emplace_back(tally_table_texts(table, column)[i]);
  return out;
}

inline std::vector<uint64_t> counts(const tally_table *table, size_t column) {
  const uint64_t *first = tally_table_counts(table, column);
  return {first, first + tally_table_rows(table)};
}

inline std::vector<std::string> column_names(const tally_table *table) {
  std::vector<std::string> out;
  for (size_t i = 0; i < tally_table_columns(table); ++i)
    out.emplace_back(tally_table_column_name(table, i));
  return out;
}

// Owns a table that a call returned.
class Table {
public:
  Table() = default;
  Table(const Table &) = delete;
  ~Table() { tally_table_free(table_); }
  tally_table **out() {
    tally_table_free(table_);
    table_ = nullptr;
    return &table_;
  }
  operator const tally_table *() const { return table_; }
  std::vector<std::string> column_texts(std::string_view name) const {
    return texts(table_, at(name));
  }
  std::vector<uint64_t> column_counts(std::string_view name) const {
    return counts(table_, at(name));
  }

private:
  size_t at(std::string_view name) const {
    size_t column = 0;
    while (column < tally_table_columns(table_) && tally_table_column_name(table_, column) != name)
      ++column;
    EXPECT_LT(column, tally_table_columns(table_)) << name;
    return column;
  }
  tally_table *table_ = nullptr;
};

} // namespace tally
