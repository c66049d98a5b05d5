/* The second source file of `calls`. */
#include "calls.h"

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE unsigned helper(unsigned n) { return mixed(n) ^ 5; }

NOINLINE unsigned back(unsigned (*callback)(unsigned), unsigned n) {
  return callback(n) + helper(n);
}

NOINLINE unsigned odd(unsigned n) { return n == 0 ? 0 : even(n - 1) + helper(n); }
