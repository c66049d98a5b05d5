// The units of events. A sample's value has a type and a unit; an event of a CostProfile has two
// names, of which the long one states the unit: "wait in nanoseconds".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace tally {

constexpr std::string_view unit_of_times = "nanoseconds";

// Returns the long name of an event, empty if it counts something and needs none.
inline std::string long_event_name(std::string_view type, std::string_view unit) {
  return unit.empty() || unit == "count" ? std::string() : fmt::format("{} in {}", type, unit);
}

// Returns the unit that a long name states, "count" if it states no unit of time.
inline std::string_view unit_in(std::string_view long_name) {
  constexpr std::string_view between = " in ";
  if (!long_name.ends_with(unit_of_times))
    return "count";
  long_name.remove_suffix(unit_of_times.size());
  return long_name.ends_with(between) ? unit_of_times : "count";
}

// Returns the value that one sample of the event adds; 0 if it may be any. `period_ns` is that of
// the clock, or 0.
inline double size_of_a_sample(std::string_view type, std::string_view unit, uint64_t period_ns) {
  if (unit == unit_of_times)
    return static_cast<double>(period_ns);
  return unit == "count" && (type == "ticks" || type == "samples") ? 1 : 0;
}

} // namespace tally
