#include "coverage/uncertain_counts.h"

#include <algorithm>
#include <cstdint>

#include "support/checked.h"
#include "support/path.h"

namespace tally {
namespace {

// Calls change(count, uncertain) for the count of a row that is shown.
template <typename Change> void change_row(GcovRow &row, const Change &change) {
  int64_t &count = row.has_blocks ? row.by_blocks : row.raw;
  change(count, row.uncertain);
  row.at_least = row.raw_at_least = count;
}

} // namespace

void widen(std::span<GcovRow> rows, std::span<const OpenFrame> frames, GcovFunction &function) {
  const auto moved = std::ranges::count_if(
      frames, [](const OpenFrame &frame) { return frame.optimized && !frame.in_call; });
  const bool unbounded =
      std::ranges::any_of(frames, [](const OpenFrame &frame) { return frame.in_registers; });
  const auto widen_one = [&](int64_t &count, int64_t &uncertain) {
    if (uncertain == INT64_MAX)
      return;
    const int64_t more = saturated_sum<int64_t>(uncertain, std::min<int64_t>(count, moved));
    count = std::max<int64_t>(0, count - moved);
    uncertain = unbounded ? INT64_MAX : saturated_sum<int64_t>(more, moved);
  };
  widen_one(function.execution_count, function.uncertain);
  for (GcovRow &row : rows)
    change_row(row, widen_one);
}

void raise(std::span<GcovRow> rows, const std::function<std::string_view(const GcovRow &)> &path_of,
           const OpenFrame &frame, GcovFunction &function) {
  const auto raise_one = [](int64_t &count, int64_t &uncertain) {
    if (count > 0 || uncertain == 0)
      return;
    count = 1;
    uncertain -= uncertain != INT64_MAX;
  };
  raise_one(function.execution_count, function.uncertain);
  for (GcovRow &row : rows)
    if (row.line == frame.line && base_name(path_of(row)) == base_name(frame.file))
      change_row(row, raise_one);
}

} // namespace tally
