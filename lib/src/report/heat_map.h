// Shows how busy a program was in each part of each second: a heat map of a profile whose times are
// known. Work that recurs each second, or each hundred milliseconds, forms a pattern.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "report/report.h"
#include "support/result.h"
#include "transform/sample_filter.h"

namespace tally {

struct HeatMap {
  static constexpr uint64_t column_ns = 1'000'000'000;
  static constexpr size_t rows = 50;
  static constexpr uint64_t row_ns = column_ns / rows;
  static constexpr uint64_t most_columns = 1200;
  using Column = std::array<uint64_t, rows>; // the first 20 ms of the second first

  std::string command;
  uint64_t from_ns = 0, to_ns = 0; // what was asked for, or the whole profile
  std::string event;               // the value that is shown: "ticks", "wait"
  bool has_durations = false;      // the cells are times in ns; otherwise counts
  std::vector<Column> columns;     // from the second in which from_ns lies
  uint64_t most = 0;               // of a cell
  uint64_t times_from_ns = 0;      // the times before were not kept

  // Returns when a cell of the first row begins.
  uint64_t begin_ns(size_t column) const { return (from_ns / column_ns + column) * column_ns; }
};

// Returns the cells of the samples that `wanted` selects. Its event is the value that is shown: by
// default the first. A wait is in all cells that it overlaps.
// Errors: those of shown_times() and filter_samples(); unsupported if there are more than
// most_columns seconds; no_data if there are no samples.
Result<HeatMap> heat_map(const StackProfile &profile, const SampleFilter &wanted);
Result<HeatMap> heat_map(const CostProfile &profile, const SampleFilter &wanted);

// Returns a line for each 40 ms, from the end of the second to its begin, with a character for each
// column, or for several if the text would be wider than `width`.
std::string to_text(const HeatMap &map, uint32_t width, const TextOptions &options = {});
// Returns {"axis":{"from_ns","to_ns","column_ns","row_ns"},"event":S,"unit":"nanoseconds"|"count",
// "columns":[[N,…],…]}.
std::string to_json(const HeatMap &map);
// Returns a picture, which needs nothing else.
std::string to_svg(const HeatMap &map);

} // namespace tally
