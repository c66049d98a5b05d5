#include "formats/json_number.h"

#include <cmath>

namespace tally {

std::optional<int64_t> scaled_integer(const JsonValue &value, int64_t factor) {
  int64_t product = 0;
  if (const auto whole = value.integer())
    return __builtin_mul_overflow(*whole, factor, &product) ? std::nullopt : std::optional(product);
  const auto number = value.number();
  constexpr double limit = 9.2e18;
  const double rounded = std::round(number.value_or(0) * static_cast<double>(factor));
  if (!number || !(std::abs(rounded) < limit)) // also if it is not a number
    return {};
  return static_cast<int64_t>(rounded);
}

} // namespace tally
