#include "stacks/time_log.h"

#include <numeric>

#include "stacks/packed_numbers.h"

namespace tally {

void TimeLog::write(uint64_t value) {
  write_number(value, [this](std::byte byte) { bytes_.push_back(byte); });
}

void TimeLog::add(uint32_t row, StackTime time, bool is_interval) {
  write(row);
  write(zigzag(int64_t{time.at} - last_at_));
  if (is_interval)
    write(time.length);
  last_at_ = time.at;
  ++count_;
}

void TimeLog::clear() {
  bytes_.clear();
  count_ = 0;
  last_at_ = 0;
}

TimeLog::ByRow TimeLog::by_row(size_t rows,
                               const std::function<bool(uint32_t row)> &is_interval) const {
  const auto for_each = [&](const auto &visit) {
    size_t at = 0;
    const auto number = [&] { return read_number([&] { return bytes_[at++]; }); };
    int64_t last = 0;
    for (size_t i = 0; i < count_; ++i) {
      const auto row = static_cast<uint32_t>(number());
      last += from_zigzag(number());
      const uint64_t length = is_interval(row) ? number() : 0;
      visit(row, StackTime{static_cast<uint32_t>(last), static_cast<uint32_t>(length)});
    }
  };
  ByRow out;
  out.first_.assign(rows + 1, 0);
  for_each([&](uint32_t row, StackTime) { ++out.first_[row + 1]; });
  std::partial_sum(out.first_.begin(), out.first_.end(), out.first_.begin());
  out.times_.resize(count_);
  std::vector<uint32_t> next(out.first_.begin(), out.first_.end());
  for_each([&](uint32_t row, StackTime time) { out.times_[next[row]++] = time; });
  return out;
}

} // namespace tally
