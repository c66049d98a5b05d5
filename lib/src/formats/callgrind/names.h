// Compressed names: "(7) main" defines an id, "(7)" refers to it.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/callgrind/lex.h"
#include "support/strings.h"

namespace tally::callgrind {

inline bool begins_id(std::string_view text) {
  return text.size() > 1 && text[0] == '(' && is_digit(text[1]);
}

// Returns the id if the text is exactly one id in its canonical form, such as "(12)". Nested names
// consist of such ids and of words.
inline std::optional<uint64_t> whole_id(std::string_view text) {
  if (!begins_id(text) || text.back() != ')')
    return {};
  const std::string_view digits = text.substr(1, text.size() - 2);
  uint64_t id = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  const bool plain = digits == "0" || digits[0] != '0';
  if (fault != std::errc() || end != digits.data() + digits.size() || !plain)
    return {};
  return id;
}

struct NameEntry {
  StringId name = none<StringId>; // none if the id is not defined
  uint32_t part = 0;              // the part that has the definition
  uint64_t line = 0;              // the line of the definition
};

// Maps ids to names. Ids are sparse and come in any order. Small ids are indexes of an array. It
// has at most 1024 entries plus eight for each definition, so that a single large id does not
// enlarge it.
class NameTable {
public:
  const NameEntry *find(uint64_t id) const {
    if (id < dense_.size() && dense_[id].name != none<StringId>)
      return &dense_[id];
    if (sparse_.empty())
      return nullptr;
    const auto at = sparse_.find(id);
    return at == sparse_.end() ? nullptr : &at->second;
  }
  void define(uint64_t id, const NameEntry &entry) {
    ++defined_;
    if (const size_t most = 1024 + 8 * defined_; id >= dense_.size() && id < most)
      grow(std::clamp<size_t>(2 * dense_.size(), id + 1, most));
    if (id < dense_.size())
      dense_[id] = entry;
    else
      sparse_[id] = entry;
  }

private:
  void grow(size_t size) {
    dense_.resize(size);
    const auto end = sparse_.lower_bound(size);
    for (auto at = sparse_.begin(); at != end; at = sparse_.erase(at))
      dense_[at->first] = at->second;
  }

  std::vector<NameEntry> dense_;
  std::map<uint64_t, NameEntry> sparse_;
  size_t defined_ = 0;
};

} // namespace tally::callgrind
