// The times of counts, in the order in which they were counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tally {

// A time, and for intervals the length, in units of unit_ns.
struct StackTime {
  static constexpr uint64_t unit_ns = 10'000;
  static constexpr uint32_t unknown = UINT32_MAX;
  uint32_t at = unknown;
  uint32_t length = 0;
  friend bool operator==(const StackTime &, const StackTime &) = default;
};

// Takes about 3 bytes for each time.
class TimeLog {
public:
  void add(uint32_t row, StackTime time, bool is_interval);
  size_t size() const { return count_; }
  size_t bytes() const { return bytes_.size(); }
  size_t memory_bytes() const { return bytes_.capacity(); }
  void clear(); // keeps the memory for the next times

  // The times of each row, in their order.
  class ByRow {
  public:
    std::span<const StackTime> of(uint32_t row) const {
      return std::span(times_).subspan(first_[row], first_[row + 1] - first_[row]);
    }

  private:
    friend class TimeLog;
    std::vector<StackTime> times_;
    std::vector<uint32_t> first_; // indexes of times_
  };
  // `rows` is larger than each row that was added.
  ByRow by_row(size_t rows, const std::function<bool(uint32_t row)> &is_interval) const;

private:
  void write(uint64_t value);

  std::vector<std::byte> bytes_;
  size_t count_ = 0;
  uint32_t last_at_ = 0;
};

} // namespace tally
