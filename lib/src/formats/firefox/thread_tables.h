// The tables of one thread of the file, numbered in the order of their first use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/firefox/code_table.h"
#include "support/hash.h"

namespace tally::firefox {

// Numbers keys from 0 in the order in which they are first asked for.
template <class Key> class Numbering {
public:
  // Returns the number of the key, and whether it is new.
  std::pair<uint32_t, bool> number(const Key &key) {
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(keys_.size()));
    if (is_new)
      keys_.push_back(key);
    return {found->second, is_new};
  }
  std::optional<uint32_t> find(const Key &key) const {
    const auto at = numbers_.find(key);
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }
  const std::vector<Key> &keys() const { return keys_; }

private:
  SeededMap<Key, uint32_t> numbers_;
  std::vector<Key> keys_;
};

struct StackRow {
  uint32_t frame = 0;
  uint32_t prefix = none<uint32_t>;
  uint32_t category = 0;
};
struct FrameRow {
  uint32_t function = 0; // in `functions`
  uint32_t line = 0;
  uint32_t category = 0;
  uint32_t inline_depth = 0;
};

class ThreadTables {
public:
  explicit ThreadTables(const CodeTable &code) : code_(code) {}

  // Returns the row of a stack whose leaf has the category. Callers have `caller_category`.
  uint32_t stack(uint32_t node, uint32_t category, uint32_t caller_category);
  uint32_t text(std::string_view text) { return strings_.number(text).first; }

  const std::vector<StackRow> &stacks() const { return stacks_; }
  const std::vector<FrameRow> &frames() const { return frames_; }
  const std::vector<uint32_t> &functions() const { return functions_.keys(); } // of the tree
  const std::vector<std::string_view> &strings() const { return strings_.keys(); }

private:
  const CodeTable &code_;
  Numbering<uint64_t> stack_keys_, frame_keys_; // the id and the category
  Numbering<uint32_t> functions_;
  Numbering<std::string_view> strings_;
  std::vector<StackRow> stacks_;
  std::vector<FrameRow> frames_;
};

} // namespace tally::firefox
