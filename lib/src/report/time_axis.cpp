#include "report/time_axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tally {

namespace {
struct Unit {
  std::string_view name;
  uint64_t ns;
  int most_digits;
};
constexpr std::array<Unit, 4> units{
    {{"s", 1'000'000'000, 9}, {"ms", 1'000'000, 6}, {"µs", 1'000, 3}, {"ns", 1, 0}}};
} // namespace

TimeAxis::TimeAxis(uint64_t to_ns, uint64_t step_ns) {
  const auto *const unit = std::ranges::find_if(
      units, [&](const Unit &each) { return to_ns >= each.ns || each.ns == 1; });
  unit_ = unit->name;
  unit_ns_ = static_cast<double>(unit->ns);
  const double steps = unit_ns_ / static_cast<double>(std::max<uint64_t>(1, step_ns));
  // The small number makes up for the rounding of a power of ten.
  digits_ = std::clamp(static_cast<int>(std::ceil(std::log10(steps) - 1e-9)), 0, unit->most_digits);
}

std::string TimeAxis::text(uint64_t ns) const {
  return ns == 0 ? "0"
                 : fmt::format("{:.{}f} {}", static_cast<double>(ns) / unit_ns_, digits_, unit_);
}

std::vector<uint64_t> round_times(uint64_t from_ns, uint64_t to_ns, uint32_t most) {
  const auto count = [&](uint64_t step) {
    return to_ns / step - from_ns / step + (from_ns % step == 0 ? 1 : 0);
  };
  uint64_t step = 1;
  for (uint64_t power = 1; count(step) > most && power < UINT64_MAX / 100; power *= 10)
    for (const uint64_t factor : {1u, 2u, 5u})
      if (count(step) > most)
        step = power * factor;
  std::vector<uint64_t> out;
  const uint64_t first = from_ns / step + (from_ns % step == 0 ? 0 : 1);
  for (uint64_t i = first; i <= to_ns / step; ++i)
    out.push_back(i * step);
  return out;
}

} // namespace tally
