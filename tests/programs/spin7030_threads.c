/* spin7030_threads [SECONDS=1 [THREADS=4]]
 *
 * Runs spin7030 in several threads, each for SECONDS of CPU time. Reads the clock rarely. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

static double seconds = 1;

__attribute__((noinline, noclone)) void seventy(uint64_t unit) { SPIN_STEPS(7 * unit); }

__attribute__((noinline, noclone)) void thirty(uint64_t unit) { SPIN_STEPS(3 * unit); }

__attribute__((noinline, noclone)) static void *spin_thread(void *seed) {
  uint32_t jitter = *(const uint32_t *)seed;
  const double end = spin_clock(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (spin_clock(CLOCK_THREAD_CPUTIME_ID) < end)
    for (int i = 0; i < 512; ++i) {
      jitter = jitter * 1664525U + 1013904223U;
      const uint64_t unit = 500 + (jitter >> 22);
      seventy(unit);
      thirty(unit);
    }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1)
    seconds = atof(argv[1]);
  const int count = argc > 2 ? atoi(argv[2]) : 4;
  pthread_t threads[64];
  uint32_t seeds[64];
  for (int i = 0; i < count && i < 64; ++i) {
    seeds[i] = (uint32_t)i + 1;
    if (pthread_create(&threads[i], NULL, spin_thread, &seeds[i]) != 0)
      return 1;
  }
  for (int i = 0; i < count && i < 64; ++i)
    pthread_join(threads[i], NULL);
  printf("cpu_seconds %.6f\n", spin_clock(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}
