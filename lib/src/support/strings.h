// Interned strings and typed ids: each name is stored once and compared as a number.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace tally {

// An id is an index with a type of its own, so that the compiler rejects an index of another
// column. The largest value means "none".
template <class Id>
inline constexpr Id none = static_cast<Id>(std::numeric_limits<uint32_t>::max());
template <class Id> constexpr uint32_t index_of(Id id) { return static_cast<uint32_t>(id); }

// A column of a table: one value for each row, indexed by the row's id.
template <class Id, class T> class Column {
public:
  const T &operator[](Id id) const { return values_[index_of(id)]; }
  T &operator[](Id id) { return values_[index_of(id)]; }
  Id push(T value) {
    values_.push_back(std::move(value));
    return static_cast<Id>(values_.size() - 1);
  }
  uint32_t size() const { return static_cast<uint32_t>(values_.size()); }
  bool contains(Id id) const { return index_of(id) < values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  void reserve(size_t rows) { values_.reserve(rows); }

private:
  std::vector<T> values_;
};

enum class StringId : uint32_t {}; // StringId{0} is the empty string

// Stores each distinct string once. No encoding is assumed. Views are valid as long as the pool.
class StringPool {
public:
  StringPool();
  StringPool(const StringPool &other);
  StringPool &operator=(const StringPool &other);
  StringPool(StringPool &&) noexcept = default;
  StringPool &operator=(StringPool &&) noexcept = default;

  StringId intern(std::string_view text); // returns the id of a string, which it adds if it is new
  std::string_view operator[](StringId id) const { return views_[index_of(id)]; }
  uint32_t size() const { return static_cast<uint32_t>(views_.size()); }
  size_t memory_bytes() const;

private:
  std::string_view store(std::string_view text);
  void grow();

  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunk_used_ = 0;
  size_t chunk_size_ = 0;
  size_t chunk_total_ = 0;
  std::vector<std::string_view> views_;
  std::vector<uint32_t> slots_; // hash table with open addressing: index + 1, or 0 if free
};

} // namespace tally
