#include "model/event_values.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace tally {

namespace {

// Users ask for a value by its name, and `perf record -e cycles,cycles` counts two of one name.
std::string unused_name(const std::string &name, const std::vector<std::string> &used) {
  std::string out = name;
  for (size_t number = 2; std::ranges::find(used, out) != used.end(); ++number)
    out = fmt::format("{}#{}", name, number);
  return out;
}

} // namespace

std::string_view without_precision(std::string_view name) {
  const size_t colon = name.rfind(':');
  const bool precision = colon != name.npos && colon + 1 < name.size() &&
                         name.find_first_not_of("pP", colon + 1) == name.npos;
  return precision ? name.substr(0, colon) : name;
}

void add_event_rows(StackProfileBuilder &builder, std::span<const EventKind> events,
                    std::span<const EventRow> rows, Diagnostics &diagnostics,
                    const std::string &source) {
  std::vector<bool> is_used(events.size());
  for (const EventRow &row : rows)
    is_used[row.event] = true;
  const auto used_count = std::ranges::count(is_used, true);
  builder.add_value_type("ticks", "count");
  std::vector<std::string> names;
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
    if (!event.has_periods && used_count == 1) // the ticks say it
      continue;
    const bool is_cpu = event.is_clock && event.has_periods && !has_clock;
    has_clock |= is_cpu;
    names.push_back(unused_name(is_cpu ? "cpu" : event.name, names));
    column[i] = names.size();
    builder.add_value_type(names.back(),
                           event.is_clock && event.has_periods ? "nanoseconds" : "count");
  }
  if (used_count > 1)
    diagnostics.add(Severity::note,
                    fmt::format("holds samples of {} events; ticks are those of {}", used_count,
                                events[*first].name),
                    source);
  std::vector<int64_t> values(1 + names.size());
  for (const EventRow &row : rows) {
    std::ranges::fill(values, 0);
    if (column[row.event] != 0)
      values[column[row.event]] = row.period;
    values[0] = row.event == *first ? 1 : 0;
    builder.add_sample(row.stack, row.thread, none<PartId>, values);
  }
}

} // namespace tally
