#include "support/significance.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tally {

double upper_tail(double t, uint32_t freedom) {
  if (t < 0)
    return 1 - upper_tail(-t, freedom);
  if (freedom == 0)
    return std::erfc(t / std::numbers::sqrt2) / 2;
  const double angle = std::atan2(t, std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle), square = cosine * cosine;
  const bool odd = freedom % 2 != 0;
  // The sum of the powers of the cosine below `freedom` - 1, even ones or odd ones.
  double sum = 0, term = odd ? cosine : 1;
  for (uint32_t k = odd ? 3 : 2; k <= freedom; k += 2) {
    sum += term;
    term *= square * (k - 1) / k;
  }
  const double inside = odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum)
                            : std::sin(angle) * sum; // of -t to t
  return std::max(0.0, (1 - inside) / 2);
}

double critical_value(double probability, uint32_t freedom) {
  double low = 0, high = 1;
  while (upper_tail(high, freedom) > probability && high < 1e12)
    high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-9 * high; ++i) {
    const double middle = (low + high) / 2;
    (upper_tail(middle, freedom) > probability ? low : high) = middle;
  }
  return high;
}

uint32_t runs_to_detect(double difference, double variance, double probability) {
  const auto suffices = [&](uint32_t runs) {
    constexpr uint32_t as_normal = 1000; // from here on, the distributions differ by less than 1 %
    const uint32_t freedom = 2 * runs - 2 < as_normal ? 2 * runs - 2 : 0;
    return critical_value(probability, freedom) * std::sqrt(2 * variance / runs) <= difference;
  };
  uint32_t low = 1, high = 1'000'000; // `low` does not suffice
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

double least_change_of_shares(double a, double all_a, double b, double all_b, double critical) {
  const auto variance = [](double share) { return share * (1 - share); };
  const double share_a = a / all_a, share_b = b / all_b;
  // The variance of the shares that were observed is too small if one of them is 0 by chance, and
  // that of the shares together if the totals are very different.
  const double sampled = std::max(variance(share_a) / all_a + variance(share_b) / all_b,
                                  variance((a + b) / (all_a + all_b)) * (1 / all_a + 1 / all_b));
  const double of_runs =
      assumed_variation * assumed_variation * (share_a * share_a + share_b * share_b);
  return critical * std::sqrt(sampled + of_runs);
}

} // namespace tally
