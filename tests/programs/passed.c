/* passed [TIMES=300] [STEPS=500000]
 *
 * Calls `here`, which does nothing, TIMES times, with STEPS (about a nanosecond each) in `work`
 * before each call. It is for breakpoints that the debugger passes by itself. */
#include <stdlib.h>

#include "spin.h"

__attribute__((noinline, noclone)) void work(long steps) { SPIN_STEPS((uint64_t)steps); }

volatile int seen;

__attribute__((noinline, noclone)) void here(int number) { seen = number; }

int main(int argc, char **argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 300;
  const long steps = argc > 2 ? atol(argv[2]) : 500000;
  for (int i = 0; i < times; ++i) {
    work(steps);
    here(i);
  }
  return 0;
}
