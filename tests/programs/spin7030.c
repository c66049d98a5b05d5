/* spin7030 [SECONDS=1 [CHECKPOINTS=0 [STATUS=0]]]
 *
 * A program whose true profile is known: `seventy` and `thirty` take 70 % and 30 % of SECONDS of
 * CPU time, because they run the same loop, seven and three times as long. They alternate every
 * few microseconds, in slices of varying length, so that ticks cannot synchronize with them.
 * `checkpoint` is called CHECKPOINTS times, evenly spread over the CPU time, for breakpoints.
 * The last line on stdout is `cpu_seconds S`,
 * the CPU time used. */
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

__attribute__((noinline, noclone)) void seventy(uint64_t unit) { SPIN_STEPS(7 * unit); }

__attribute__((noinline, noclone)) void thirty(uint64_t unit) { SPIN_STEPS(3 * unit); }

/* The number is for conditions such as `break checkpoint if number == 2`. */
__attribute__((noinline, noclone)) void checkpoint(int number) {
  __asm__ volatile("" : : "r"(number) : "memory");
}

static void spin_slices(int slices) {
  static uint32_t jitter = 1;
  for (int i = 0; i < slices; ++i) {
    jitter = jitter * 1664525U + 1013904223U;
    const uint64_t unit = 500 + (jitter >> 22);
    seventy(unit);
    thirty(unit);
  }
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const int checkpoints = argc > 2 ? atoi(argv[2]) : 0;
  const int status = argc > 3 ? atoi(argv[3]) : 0;

  const double begin = spin_clock(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i <= checkpoints; ++i) {
    const double end = begin + seconds * (i + 1) / (checkpoints + 1);
    while (spin_clock(CLOCK_PROCESS_CPUTIME_ID) < end)
      spin_slices(16);
    if (i < checkpoints)
      checkpoint(i + 1);
  }
  printf("cpu_seconds %.6f\n", spin_clock(CLOCK_PROCESS_CPUTIME_ID));
  return status;
}
