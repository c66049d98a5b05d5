// Holds rows of a file before they are added to the model.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/pprof/pprof.h"
#include "formats/unnamed_function.h"
#include "support/hash.h"
#include "support/memory_limit.h"

namespace tally::pprof {

// Rows by their ids in the file. In most files the ids are 1, 2, 3, …
template <class Row> class RowsById {
public:
  // Returns false if the id is used already.
  bool add(uint64_t id, const Row &row) {
    MemoryLimit::tick();
    if (id == in_turn_.size() + 1 && !others_.contains(id)) {
      in_turn_.push_back(row);
      return true;
    }
    return id > in_turn_.size() && others_.try_emplace(id, row).second;
  }
  const Row *find(uint64_t id) const {
    if (id - 1 < in_turn_.size())
      return &in_turn_[id - 1];
    const auto found = others_.find(id);
    return found == others_.end() ? nullptr : &found->second;
  }

private:
  std::vector<Row> in_turn_;
  SeededMap<uint64_t, Row> others_;
};

struct PartRow {
  std::string_view trigger;
  uint64_t begin_ns = 0, end_ns = 0;
};

// Parses "part 2: 100 ns to 150 ns, the trigger". Returns false if it is not a valid part.
inline bool parse_part(std::string_view comment, uint32_t &number, PartRow &part) {
  const auto take = [&](std::string_view word) {
    const bool there = comment.starts_with(word);
    comment.remove_prefix(there ? word.size() : 0);
    return there;
  };
  const auto take_number = [&](auto &value) {
    const auto [end, fault] =
        std::from_chars(comment.data(), comment.data() + comment.size(), value);
    comment.remove_prefix(static_cast<size_t>(end - comment.data()));
    return fault == std::errc();
  };
  if (!take(part_comment) || !take_number(number) || number == 0 || !take(": ") ||
      !take_number(part.begin_ns) || !take(" ns to ") || !take_number(part.end_ns) ||
      !take(" ns") || part.end_ns < part.begin_ns || !(comment.empty() || take(", ")))
    return false;
  part.trigger = comment;
  return true;
}

// Returns whether `function` is one that the reader made up for a location without lines. The
// location of such a function is written without lines.
inline bool is_unnamed(const StackProfile &profile, const SourceFunction &function) {
  const std::string_view object = profile.strings[function.object];
  return !object.empty() && function.system_name == StringId{} && function.file == StringId{} &&
         function.line == 0 && profile.strings[function.name] == unnamed_function(object);
}

} // namespace tally::pprof
