/* stamps RUNS
 *
 * Calls `checkpoint` RUNS times. Between two calls it runs for 0.1 to 20 ms of CPU time, or sleeps,
 * and prints how long that took by CLOCK_MONOTONIC: the true time of a run from stop to stop.
 * `passed` is called in between, for breakpoints that the debugger passes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline, noclone)) void passed(void) { __asm__ volatile("" : : : "memory"); }

__attribute__((noinline, noclone)) void checkpoint(double ran) {
  __asm__ volatile("" : : "x"(ran) : "memory");
}

int main(int argc, char **argv) {
  const int runs = argc > 1 ? atoi(argv[1]) : 10;
  uint32_t random = 1;
  double held = 0; /* what the calls of `passed` took */
  double resumed = spin_clock(CLOCK_MONOTONIC);
  for (int i = 0; i < runs; ++i) {
    random = random * 1664525U + 1013904223U;
    const uint32_t micros = 100 + (random >> 12) % 20000;
    if (i % 3 == 2) {
      usleep(micros);
    } else {
      const double end = spin_clock(CLOCK_MONOTONIC) + micros * 1e-6;
      while (spin_clock(CLOCK_MONOTONIC) < end)
        SPIN_STEPS(500);
    }
    if (i % 4 == 1) {
      const double before = spin_clock(CLOCK_MONOTONIC);
      passed();
      held += spin_clock(CLOCK_MONOTONIC) - before;
    }
    const double ran = spin_clock(CLOCK_MONOTONIC) - resumed - held;
    printf("ran %.6f\n", ran);
    fflush(stdout);
    checkpoint(ran);
    resumed = spin_clock(CLOCK_MONOTONIC);
    held = 0;
  }
  return 0;
}
