// Defines the rows that answer a look-up. They are plain data, with the same layout in memory and
// in the cache's file (README.md explains them), so a cached table is used in place.
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

// A string of the table's owner: a StringId of the pool, or an offset into the cache's strings. 0
// is the empty string in both cases.
using TextRef = uint32_t;

// From `start` on (in bytes after the unit's base), `node` is the innermost function. The value
// no_index means that there is none.
struct RangeRow {
  uint32_t start;
  uint32_t node;
};

// From `start` on, code belongs to this line. If `file` is no_index, a sequence ended there, and
// the code belongs to no line.
struct LineRow {
  uint32_t start;
  TextRef file;
  uint32_t line;
};

// A function, or one inlined copy of it.
struct NodeRow {
  uint32_t function;
  uint32_t parent; // the node that it is inlined into, which has a smaller number, or no_index
  TextRef call_file;
  uint32_t call_line;
};

struct FunctionRow {
  TextRef linkage; // may be empty
  TextRef display; // demangled; empty if not demangled yet
  TextRef file;    // the file that declares it
  uint32_t line;
};

// [low, high) belongs to the compilation unit whose DIE is at `unit` in .debug_info.
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

// Checks whether bytes of a mapped cache are what was written; see cache.h.
class PageGuard {
public:
  virtual bool check(const void *bytes, size_t size) const = 0;

protected:
  ~PageGuard() = default;
};

// Rows in memory, or in a mapped cache (with its guard). A row with damaged bytes reads as zeros,
// and the guard records the damage.
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
  // Returns the number of rows for which `is_before` is true; these rows come first.
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

// Returns the last row that starts at or before the address, where `base` is added to each row's
// start. Returns nothing if there is none, or if the address is not within 4 GiB above `base`.
template <class Row>
std::optional<Row> row_at(const Rows<Row> &rows, uint64_t base, uint64_t address) {
  if (address < base || address - base >= no_index)
    return std::nullopt;
  const auto offset = static_cast<uint32_t>(address - base);
  const size_t after = rows.partition_point([&](const Row &row) { return row.start <= offset; });
  return after ? std::optional(rows[after - 1]) : std::nullopt;
}

// Returns the index of the row whose [low, high) contains the address, or no_index.
template <class Row> size_t covering(const Rows<Row> &rows, uint64_t address) {
  const size_t after = rows.partition_point([&](const Row &row) { return row.low <= address; });
  return after && address < rows[after - 1].high ? after - 1 : size_t{no_index};
}

// Converts "_ZN2ns1fEi" to "ns::f(int)"; returns a name that is not mangled as C++ unchanged.
std::string demangle(std::string_view linkage_name);

} // namespace tally::symbolize
