#include "formats/firefox/read_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

namespace tally::firefox {

namespace {

constexpr double ns_in_ms = 1e6;

} // namespace

std::optional<int64_t> nanoseconds(double ms) {
  const double ns = std::round(ms * ns_in_ms);
  constexpr double limit = 9.2e18;
  if (!(std::abs(ns) < limit))
    return {};
  return static_cast<int64_t>(ns);
}

std::optional<int32_t> id_of(const JsonValue &value) {
  if (const auto number = value.integer())
    return *number >= INT32_MIN && *number <= INT32_MAX
               ? std::optional(static_cast<int32_t>(*number))
               : std::nullopt;
  std::string_view text = value.text().value_or("");
  if (const size_t colon = text.find(':'); colon != text.npos)
    text.remove_prefix(colon + 1);
  int32_t id = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (fault != std::errc() || (end != text.data() + text.size() && *end != '.' && *end != ' '))
    return {};
  return id;
}

uint64_t time_after(int64_t at_ns, int64_t zero_ns) {
  const int64_t after = at_ns <= zero_ns ? 0 : at_ns - std::max<int64_t>(0, zero_ns);
  return static_cast<uint64_t>(std::max<int64_t>(0, after));
}

StackId push_unknown(StackProfileBuilder &builder) {
  const SourceLine line{builder.add_function({builder.intern("[unknown]"), {}, {}, {}, 0}), {}, 0};
  return builder.push(none<StackId>, builder.add_location(none<MappingId>, 0, std::span(&line, 1)));
}

} // namespace tally::firefox
