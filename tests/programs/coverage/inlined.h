// Inlined into every unit that includes it.
#pragma once

inline int small_square(int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += n;
  return s;
}
static inline int clamped(int n, int most) { return n > most ? most : n < 0 ? 0 : n; }
