// Sums that detect overflow.
#pragma once

#include <concepts>
#include <limits>

namespace tally {

// Computes a += b. Returns false, and leaves `a` unchanged, if the sum does not fit.
template <std::integral T> [[nodiscard]] bool checked_add(T &a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum))
    return false;
  a = sum;
  return true;
}

// Returns a + b, or the largest value if the sum does not fit. Neither is negative.
template <std::integral T> [[nodiscard]] T saturated_sum(T a, T b) {
  return checked_add(a, b) ? a : std::numeric_limits<T>::max();
}

} // namespace tally
