/* phases [SECONDS=0.3]
 *
 * Computes in `first`, sleeps, and computes in `second` while a thread, `worker`, computes in
 * `beside`. Each of the three phases takes SECONDS of elapsed time, or a little more. Prints how
 * long each took by the program's own clock: `first_elapsed S`, `sleep_elapsed S`,
 * `second_elapsed S`; and the CPU time of the first, `first_cpu S`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "spin.h"

#define KEPT __attribute__((noinline, noclone))

static double seconds = 0.3;

/* These return how long they took. */
KEPT static double first(void) {
  const double begin = spin_clock(CLOCK_MONOTONIC);
  SPIN_CPU(CLOCK_MONOTONIC, seconds);
  return spin_clock(CLOCK_MONOTONIC) - begin;
}

KEPT static double second(void) {
  const double begin = spin_clock(CLOCK_MONOTONIC);
  SPIN_CPU(CLOCK_MONOTONIC, seconds);
  return spin_clock(CLOCK_MONOTONIC) - begin;
}

KEPT static void beside(void) { SPIN_CPU(CLOCK_MONOTONIC, seconds); }

static void *work(void *unused) {
  beside();
  return unused;
}

int main(int argc, char **argv) {
  pthread_t worker;
  if (argc > 1)
    seconds = atof(argv[1]);
  const double cpu_before = spin_clock(CLOCK_THREAD_CPUTIME_ID);
  const double first_elapsed = first();
  const double asleep = spin_clock(CLOCK_MONOTONIC);
  const double first_cpu = spin_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
  const double sleep_elapsed = spin_clock(CLOCK_MONOTONIC) - asleep;
  if (pthread_create(&worker, NULL, work, NULL) != 0)
    return 1;
  pthread_setname_np(worker, "worker");
  const double second_elapsed = second();
  pthread_join(worker, NULL);
  printf("first_elapsed %.6f\nfirst_cpu %.6f\nsleep_elapsed %.6f\nsecond_elapsed %.6f\n",
         first_elapsed, first_cpu, sleep_elapsed, second_elapsed);
  return 0;
}
