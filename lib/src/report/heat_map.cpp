#include "report/heat_map.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "report/heat_map_steps.h"
#include "report/render.h"
#include "report/timeline.h"
#include "report/value_text.h"
#include "support/checked.h"
#include "support/text.h"

namespace tally {

namespace {

// The marks of the text, from the first cell with anything to the fullest.
constexpr std::string_view heat_marks = ".:-=+*#%@";
constexpr size_t heat_text_rows = 25; // of 40 ms
constexpr std::string_view heat_offset_title = "offset";

// Adds the part of an interval that is in each cell.
void add_heat_interval(HeatMap &map, uint64_t begin, uint64_t end) {
  const uint64_t first = map.begin_ns(0), last = map.begin_ns(map.columns.size());
  begin = std::max(begin, first);
  end = std::min(end, last);
  while (begin < end) {
    const uint64_t in_axis = begin - first;
    const uint64_t next = std::min(end, begin - in_axis % HeatMap::row_ns + HeatMap::row_ns);
    uint64_t &cell =
        map.columns[in_axis / HeatMap::column_ns][in_axis % HeatMap::column_ns / HeatMap::row_ns];
    cell = saturated_sum(cell, next - begin);
    begin = next;
  }
}

Result<void> fill_heat(HeatMap &map, const StackProfile &profile) {
  const bool intervals = measures_intervals(profile, 0);
  const ValueType &type = profile.value_types().front();
  const bool is_time = profile.strings[type.unit] == "nanoseconds";
  const bool is_tick = profile.strings[type.type] == "ticks" && profile.period_ns > 0;
  map.event = profile.strings[type.type];
  map.has_durations = is_time || is_tick;
  const uint64_t unit = is_tick ? profile.period_ns : 1;
  bool any = false;
  for (const SampleTime &time : profile.times()) {
    if (time.value != 0 || time.amount <= 0)
      continue;
    any = true;
    const auto amount = static_cast<uint64_t>(time.amount);
    if (intervals) {
      add_heat_interval(map, time.at_ns - std::min(time.at_ns, amount), time.at_ns);
      continue;
    }
    // A tick stands for the time before it; several at once, for as many periods.
    if (is_tick && amount > 1) {
      const uint64_t length = amount > time.at_ns / unit ? time.at_ns : amount * unit;
      add_heat_interval(map, time.at_ns - length, time.at_ns);
      continue;
    }
    const uint64_t at = std::max<uint64_t>(time.at_ns, map.begin_ns(0) + 1) - 1 - map.begin_ns(0);
    if (at / HeatMap::column_ns >= map.columns.size())
      continue;
    uint64_t weight = 0;
    if (__builtin_mul_overflow(amount, unit, &weight))
      weight = UINT64_MAX;
    uint64_t &cell =
        map.columns[at / HeatMap::column_ns][at % HeatMap::column_ns / HeatMap::row_ns];
    cell = saturated_sum(cell, weight);
  }
  if (!any)
    return fail(ErrorCode::no_data, std::string(nothing_between));
  for (const HeatMap::Column &column : map.columns)
    map.most = std::max(map.most, std::ranges::max(column));
  return {};
}

} // namespace

Result<HeatMap> heat_map(const StackProfile &profile, const SampleFilter &wanted) {
  TALLY_TRY(times, shown_times(profile, wanted));
  HeatMap map;
  map.command = profile.strings[profile.command];
  map.times_from_ns = profile.times_from_ns;
  map.from_ns = times.from_ns;
  map.to_ns = times.to_ns;
  const uint64_t columns =
      (map.to_ns - 1) / HeatMap::column_ns - map.from_ns / HeatMap::column_ns + 1;
  if (columns > HeatMap::most_columns)
    return fail(ErrorCode::unsupported,
                fmt::format("a heat map shows {} seconds at most, and there are {}: select some "
                            "with --from and --to",
                            HeatMap::most_columns, columns));
  map.columns.resize(columns);
  if (wanted.takes_all()) {
    TALLY_CHECK(fill_heat(map, profile));
    return map;
  }
  TALLY_TRY(some, filter_samples(profile, wanted));
  TALLY_CHECK(fill_heat(map, some));
  return map;
}

Result<HeatMap> heat_map(const CostProfile &, const SampleFilter &) {
  return fail(ErrorCode::unsupported, "the times of the samples are not known");
}

size_t heat_step(uint64_t amount, uint64_t most, size_t steps) {
  if (amount == 0 || most == 0)
    return 0;
  const double share = static_cast<double>(amount) / static_cast<double>(most);
  return std::clamp<size_t>(static_cast<size_t>(share * static_cast<double>(steps) + 0.999), 1,
                            steps);
}

std::string amount_words(const HeatMap &map, uint64_t amount) {
  return map.has_durations ? duration_text(amount) : counted(amount, map.event);
}

std::string what_is_shown(const HeatMap &map) {
  return map.event == "ticks" || map.event == "cpu" ? "CPU time" : printable(map.event);
}

std::string to_text(const HeatMap &map, uint32_t width, const TextOptions &options) {
  const size_t room = width - heat_offset_title.size() - 2;
  const size_t together = (map.columns.size() + room - 1) / room; // seconds in a column
  const size_t columns = (map.columns.size() + together - 1) / together;
  // Each mark shows the sum of several rows and, in a long run, of several seconds.
  std::vector<std::array<uint64_t, heat_text_rows>> cells(columns);
  uint64_t most = 0;
  for (size_t i = 0; i < map.columns.size(); ++i)
    for (size_t row = 0; row < HeatMap::rows; ++row) {
      uint64_t &cell = cells[i / together][row * heat_text_rows / HeatMap::rows];
      cell = saturated_sum(cell, map.columns[i][row]);
      most = std::max(most, cell);
    }
  std::string out = fmt::format(
      "{} of {} to {}; a column is {}, and a row is 40 ms of each second\n", what_is_shown(map),
      duration_text(map.begin_ns(0)), duration_text(map.begin_ns(map.columns.size())),
      together == 1 ? "a second" : fmt::format("{} seconds", together));
  out += fmt::format("{} to {}: from nothing to {}\n", heat_marks.front(), heat_marks.back(),
                     amount_words(map, most));
  if (map.times_from_ns > 0)
    out += options.style.paint(Role::metadata, fmt::format("(the times before {} were not kept)",
                                                           duration_text(map.times_from_ns))) +
           '\n';
  out += options.style.paint(Role::title, heat_offset_title) + '\n';
  for (size_t row = heat_text_rows; row-- > 0;) {
    const bool labelled = row % 5 == 0;
    std::string line = labelled ? fmt::format("{:>3} ms  ", row * 40) : std::string(8, ' ');
    for (const auto &column : cells) {
      const size_t step = heat_step(column[row], most, heat_marks.size());
      line += step == 0 ? ' ' : heat_marks[step - 1];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

} // namespace tally
