/* phases [SECONDS=0.3]
 *
 * Computes in `first`, sleeps, and computes in `second` while a thread, `worker`, computes in
 * `beside`. Each of the three phases takes SECONDS of elapsed time. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "spin.h"

#define KEPT __attribute__((noinline, noclone))

static double seconds = 0.3;

KEPT static void first(void) { SPIN_CPU(CLOCK_MONOTONIC, seconds); }
KEPT static void second(void) { SPIN_CPU(CLOCK_MONOTONIC, seconds); }
KEPT static void beside(void) { SPIN_CPU(CLOCK_MONOTONIC, seconds); }

static void *work(void *unused) {
  beside();
  return unused;
}

int main(int argc, char **argv) {
  pthread_t worker;
  if (argc > 1)
    seconds = atof(argv[1]);
  first();
  const struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
  if (pthread_create(&worker, NULL, work, NULL) != 0)
    return 1;
  pthread_setname_np(worker, "worker");
  second();
  pthread_join(worker, NULL);
  return 0;
}
