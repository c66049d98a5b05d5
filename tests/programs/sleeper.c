/* sleeper [SECONDS=60]
 *
 * For Ctrl-C: uses 0.2 s of CPU time in `before_sleep`, prints `asleep`, then sleeps SECONDS. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void before_sleep(void) {
  SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, 0.2);
}

int main(int argc, char **argv) {
  before_sleep();
  puts("asleep");
  fflush(stdout);
  const double end = spin_clock(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 60);
  while (spin_clock(CLOCK_MONOTONIC) < end)
    usleep(10000);
  return 0;
}
