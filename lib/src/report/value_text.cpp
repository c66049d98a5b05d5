#include "report/value_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/render.h"
#include "support/text.h"

namespace tally {

std::string seconds_text(uint64_t ns) {
  return fmt::format("{:.2f} s", static_cast<double>(ns) * 1e-9);
}

std::string duration_text(uint64_t ns) {
  // The limits are those at which the rounded number would have a digit more.
  const auto number = static_cast<double>(ns);
  const auto digits = [](double value) {
    return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
  };
  if (number >= 999.5e6)
    return digits(number * 1e-9) + " s";
  if (number >= 999.5e3)
    return digits(number * 1e-6) + " ms";
  if (ns >= 1000)
    return digits(number * 1e-3) + " µs";
  return ns == 0 ? "0" : fmt::format("{} ns", ns);
}

// Returns "1.5" for 1'500'000'000.
static std::string decimal_text(uint64_t billionths) {
  std::string out = fmt::format("{}.{:09}", billionths / 1'000'000'000, billionths % 1'000'000'000);
  out.resize(out.find_last_not_of('0') + 1);
  if (out.back() == '.')
    out.pop_back();
  return out;
}

std::string value_text(uint64_t value, std::string_view unit) {
  return unit == "nanoseconds"  ? duration_text(value)
         : unit == "billionths" ? decimal_text(value)
                                : fmt::format("{}", value);
}

std::string_view shown_event(std::string_view event, std::string_view unit) {
  constexpr std::string_view prefix = "nano";
  return unit == "billionths" && event.starts_with(prefix) ? event.substr(prefix.size()) : event;
}

std::string total_text(uint64_t total, std::string_view event, std::string_view unit) {
  return unit == "nanoseconds" || unit == "billionths"
             ? fmt::format("{} {}", value_text(total, unit), shown_event(event, unit))
             : counted(total, event);
}

uint64_t weight_of(std::span<const uint64_t> values, std::span<const std::string> units) {
  uint64_t sum = 0;
  size_t times = 0;
  for (size_t i = 0; i < std::min(values.size(), units.size()); ++i)
    if (units[i] == "nanoseconds") {
      sum += values[i];
      ++times;
    }
  return times > 1 ? sum : values.front();
}

std::string totals_text(const StackProfile &profile) {
  std::string out;
  const std::vector<int64_t> totals = profile.totals();
  for (size_t i = 0; i < totals.size(); ++i) {
    const ValueType &type = profile.value_types()[i];
    out += out.empty() ? "" : ", ";
    out += total_text(static_cast<uint64_t>(totals[i]), profile.strings[type.type],
                      profile.strings[type.unit]);
  }
  return out;
}

std::string bar(double part) {
  constexpr size_t bar_columns = 16;
  static constexpr std::array<std::string_view, 8> eighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto length = static_cast<size_t>(std::lround(part * bar_columns * 8));
  std::string out;
  for (size_t i = 0; i < length / 8; ++i)
    out += "█";
  out += part > 0 && length == 0 ? eighths[1] : eighths[length % 8];
  for (size_t used = display_width(out); used < bar_columns; ++used)
    out += ' ';
  return out;
}

} // namespace tally
