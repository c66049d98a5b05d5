// The rows that answer a look-up. They are plain data: the same in memory and in the cache's file
// (FORMAT.md gives their meaning), so a cached table is used where it is mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tally::symbolize {

inline constexpr uint32_t no_index = 0xffffffff;

// A string of the table's owner: a StringId of the pool, or an offset into the cache's strings.
// 0 is the empty string in both.
using TextRef = uint32_t;

// From `start` (bytes after the unit's base) on, the innermost function is `node`; no_index: none.
struct RangeRow {
  uint32_t start;
  uint32_t node;
};

// From `start` on, code comes from this line; file no_index: from none (a sequence ended).
struct LineRow {
  uint32_t start;
  TextRef file;
  uint32_t line;
};

// A function, or one inlined copy of it.
struct NodeRow {
  uint32_t function;
  uint32_t parent; // the node it is inlined into: smaller than its own number, or no_index
  TextRef call_file;
  uint32_t call_line;
};

struct FunctionRow {
  TextRef linkage; // may be empty
  TextRef display; // demangled; empty: not demangled yet
  TextRef file;    // that declares it
  uint32_t line;
};

// [low, high) belongs to the compilation unit whose DIE lies at `unit` in .debug_info.
struct UnitRange {
  uint64_t low;
  uint64_t high;
  uint64_t unit;
};

struct SymbolRow {
  uint64_t low;
  uint64_t high;
  TextRef name;
  TextRef display; // as in FunctionRow
};

static_assert(std::is_trivially_copyable_v<SymbolRow> && sizeof(SymbolRow) == 24 &&
              sizeof(UnitRange) == 24 && sizeof(LineRow) == 12 && sizeof(NodeRow) == 16 &&
              sizeof(FunctionRow) == 16 && sizeof(RangeRow) == 8);

// Says whether bytes of a mapped cache are what was written; see cache.h.
class PageGuard {
public:
  virtual bool check(const void *bytes, size_t size) const = 0;

protected:
  ~PageGuard() = default;
};

// Rows in memory, or in a mapped cache (with its guard): a row whose bytes are damaged reads as
// zeros, and the guard remembers it.
template <class Row> class Rows {
public:
  Rows() = default;
  Rows(const std::vector<Row> &rows) : data_(rows.data()), size_(rows.size()) {}
  Rows(const Row *data, size_t size, const PageGuard *guard)
      : data_(data), size_(size), guard_(guard) {}

  size_t size() const { return size_; }
  Row operator[](size_t index) const {
    if (index >= size_ || (guard_ && !guard_->check(data_ + index, sizeof(Row))))
      return {};
    return data_[index];
  }
  // The number of rows that `is_before` says true of; they come first.
  template <class Predicate> size_t partition_point(Predicate is_before) const {
    size_t low = 0;
    size_t high = size_;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (is_before((*this)[middle]))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

private:
  const Row *data_ = nullptr;
  size_t size_ = 0;
  const PageGuard *guard_ = nullptr;
};

struct UnitTables {
  uint64_t base = 0;
  Rows<RangeRow> ranges;
  Rows<LineRow> lines;
  Rows<NodeRow> nodes;
  Rows<FunctionRow> functions;
};

// The last row whose start is at or before the address.
template <class Row>
std::optional<Row> row_at(const Rows<Row> &rows, uint64_t base, uint64_t address) {
  if (address < base || address - base >= no_index)
    return std::nullopt;
  const auto offset = static_cast<uint32_t>(address - base);
  const size_t after = rows.partition_point([&](const Row &row) { return row.start <= offset; });
  return after ? std::optional(rows[after - 1]) : std::nullopt;
}

// The row whose [low, high) holds the address; its index, or no_index.
template <class Row> size_t covering(const Rows<Row> &rows, uint64_t address) {
  const size_t after = rows.partition_point([&](const Row &row) { return row.low <= address; });
  return after && address < rows[after - 1].high ? after - 1 : size_t{no_index};
}

// "ns::f(int)" for "_ZN2ns1fEi"; the name itself where it is not mangled as C++.
std::string demangle(std::string_view linkage_name);

} // namespace tally::symbolize
