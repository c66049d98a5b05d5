#include "support/duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace tally {

namespace {

struct Unit {
  std::string_view name;
  uint64_t ns;
};
constexpr std::array<Unit, 8> units{{{"ns", 1},
                                     {"us", 1'000},
                                     {"µs", 1'000}, // U+00B5, as in printed durations
                                     {"μs", 1'000}, // U+03BC
                                     {"ms", 1'000'000},
                                     {"s", 1'000'000'000},
                                     {"min", 60'000'000'000},
                                     {"h", 3'600'000'000'000}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

tl::unexpected<Error> not_a_time(std::string_view text, std::string_view why = {}) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("expected a time such as 1.2s, 300ms or 15us, found '{}'{}", text, why));
}

// Returns the share of `ns` that the digits behind a decimal point stand for.
uint64_t fraction_of(uint64_t ns, std::string_view digits) {
  uint64_t out = 0;
  for (const char digit : digits) {
    // `ns` is an hour at most, and loses less than a nanosecond with each digit.
    const auto value = static_cast<uint64_t>(digit - '0');
    out += ns * value / 10;
    ns /= 10;
  }
  return out;
}

} // namespace

bool is_like_duration(std::string_view text) {
  return !text.empty() && (is_digit(text[0]) || text[0] == '.' || text[0] == '-');
}

Result<uint64_t> duration_of(std::string_view text) {
  const auto digits_end = [&](size_t from) {
    return static_cast<size_t>(
        std::find_if_not(text.begin() + static_cast<ptrdiff_t>(from), text.end(), is_digit) -
        text.begin());
  };
  const size_t whole_end = digits_end(0);
  const bool has_point = whole_end < text.size() && text[whole_end] == '.';
  const size_t end = has_point ? digits_end(whole_end + 1) : whole_end;
  const std::string_view whole = text.substr(0, whole_end);
  const std::string_view fraction =
      has_point ? text.substr(whole_end + 1, end - whole_end - 1) : std::string_view();
  if (whole.empty() && fraction.empty())
    return not_a_time(text);
  std::string_view unit = text.substr(end);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const bool is_zero = text.substr(0, end).find_first_not_of("0.") == text.npos;
  if (unit.empty() && is_zero)
    return 0;
  if (unit.empty())
    return not_a_time(text, ", which has no unit");
  const auto *const known = std::ranges::find(units, unit, &Unit::name);
  if (known == units.end())
    return not_a_time(text, fmt::format(" (the units are {})", "ns, us, ms, s, min and h"));
  uint64_t ns = 0;
  if (!whole.empty() &&
      std::from_chars(whole.data(), whole.data() + whole.size(), ns).ec != std::errc())
    return not_a_time(text, ", which is too long");
  if (__builtin_mul_overflow(ns, known->ns, &ns) ||
      __builtin_add_overflow(ns, fraction_of(known->ns, fraction), &ns))
    return not_a_time(text, ", which is too long");
  return ns;
}

} // namespace tally
