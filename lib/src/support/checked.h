// Sums that say when they leave their type.
#pragma once

#include <concepts>

namespace tally {

// a += b; false, and `a` as it was, where the sum does not fit.
template <std::integral T> [[nodiscard]] bool checked_add(T &a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum))
    return false;
  a = sum;
  return true;
}

} // namespace tally
