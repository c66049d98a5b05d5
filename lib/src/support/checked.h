// Sums that detect overflow.
#pragma once

#include <concepts>

namespace tally {

// Computes a += b. Returns false, and leaves `a` unchanged, if the sum does not fit.
template <std::integral T> [[nodiscard]] bool checked_add(T &a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum))
    return false;
  a = sum;
  return true;
}

} // namespace tally
