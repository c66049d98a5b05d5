// Reads the tables of strings, functions, frames and stacks, which each thread has, or which all
// threads share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/stack_profile.h"
#include "support/json_tree.h"
#include "support/result.h"

namespace tally::firefox {

// A column of a table.
struct Column {
  JsonValue list;
  JsonValue::Column rows; // empty if the column is absent
  bool is_absent() const { return list.is_null(); }
};
// Returns a column of `size` rows. An absent or null one is empty.
Result<Column> optional_column(const JsonValue &table, std::string_view name, size_t size);
// Returns a column that the table must have. `of` names the table in errors.
Result<Column> needed_column(const JsonValue &table, std::string_view name, std::string_view of);
// Returns a number below `limit`; nothing if the value is null or -1. `what` is for errors.
Result<std::optional<uint32_t>> index_below(const JsonValue &value, size_t limit,
                                            std::string_view what);

// A stack, by its row in the table.
struct ReadStack {
  StackId id = none<StackId>;
  std::optional<uint32_t> category{};
  uint32_t depth = 0; // in frames
};

// Where the tables are.
struct CodeSource {
  JsonValue tables; // the thread, or what all threads share
  JsonValue strings, sources;
  std::span<const StringId> libs; // their paths
  int64_t version = 0;
};
// Returns the paths of a list of libraries, which many threads may share.
std::vector<StringId> read_libraries(const JsonValue &list, StackProfileBuilder &builder);

Result<std::vector<ReadStack>> read_stacks(const CodeSource &source, StackProfileBuilder &builder);

} // namespace tally::firefox
