#include "formats/event_values.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "support/hash.h"

namespace tally {

namespace {

// Makes event names unique. Users select a value by its name, but `perf record -e cycles,cycles`
// records two events with the same name.
class UniqueNames {
public:
  std::string add(const std::string &name) {
    std::string out = name;
    for (size_t &number = last_number_[name]; !used_.insert(out).second;)
      out = fmt::format("{}#{}", name, ++number + 1);
    return out;
  }

private:
  SeededSet<std::string> used_;
  SeededMap<std::string, size_t> last_number_; // the last suffix that was tried; 0 if none
};

} // namespace

std::string_view without_precision(std::string_view name) {
  const size_t colon = name.rfind(':');
  const bool precision = colon != name.npos && colon + 1 < name.size() &&
                         name.find_first_not_of("pP", colon + 1) == name.npos;
  return precision ? name.substr(0, colon) : name;
}

Result<void> add_event_rows(StackProfileBuilder &builder, std::span<const EventKind> events,
                            std::span<const EventRow> rows, Diagnostics &diagnostics,
                            const std::string &source) {
  std::vector<bool> is_used(events.size());
  for (const EventRow &row : rows)
    is_used[row.event] = true;
  const auto used_count = static_cast<size_t>(std::ranges::count(is_used, true));
  if (used_count > most_sampled_events)
    return fail(ErrorCode::limit,
                fmt::format("holds samples of {} events, but no more than {} are read", used_count,
                            most_sampled_events),
                source);
  builder.add_value_type("ticks", "count");
  UniqueNames names;
  size_t width = 1;
  std::vector<size_t> column(events.size(), 0);
  std::optional<uint32_t> first;
  bool has_clock = false;
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (!is_used[i])
      continue;
    const EventKind &event = events[i];
    if (!first) {
      first = i;
      if (event.is_clock)
        builder.set_period_ns(event.period_ns);
    }
    if (!event.has_periods && used_count == 1) // the ticks already count its samples
      continue;
    const bool is_cpu = event.is_clock && event.has_periods && !has_clock;
    has_clock |= is_cpu;
    column[i] = width++;
    builder.add_value_type(names.add(is_cpu ? "cpu" : event.name),
                           event.is_clock && event.has_periods ? "nanoseconds" : "count");
  }
  if (used_count > 1)
    diagnostics.add(Severity::note,
                    fmt::format("holds samples of {} events; ticks count those of {}", used_count,
                                events[*first].name),
                    source);
  const bool has_times =
      std::ranges::none_of(rows, [](const EventRow &row) { return row.at_ns == no_time; });
  const uint64_t begin_ns = rows.empty() ? 0 : std::ranges::min(rows, {}, &EventRow::at_ns).at_ns;
  if (has_times)
    builder.reserve_times(rows.size() * std::min<size_t>(width, 2));
  std::vector<int64_t> values(width);
  for (const EventRow &row : rows) {
    std::ranges::fill(values, 0);
    if (column[row.event] != 0)
      values[column[row.event]] = row.period;
    values[0] = row.event == *first ? 1 : 0;
    const uint32_t sample = builder.add_sample(row.stack, row.thread, none<PartId>, values);
    if (!has_times)
      continue;
    const uint64_t at = row.at_ns - begin_ns;
    if (row.event == *first)
      builder.add_time({at, sample, 0, 1});
    if (const size_t own = column[row.event]; own != 0)
      builder.add_time({at, sample, static_cast<uint32_t>(own), row.period});
  }
  return {};
}

} // namespace tally
