/* shares SECONDS
 *
 * For processors that QEMU emulates: takes steps of the same duration in two functions, and counts
 * them. It makes few system calls, because a signal for QEMU may be noticed only at the next one.
 */
#include <stdlib.h>
#include <time.h>

unsigned long in_long, in_short; /* steps */
static volatile unsigned sink;

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

__attribute__((noinline)) void spin(unsigned steps) {
  for (unsigned i = 0; i < steps; ++i)
    sink += i;
}

__attribute__((noinline)) void long_work(unsigned unit) {
  spin(7 * unit);
  in_long += 7 * unit;
}

__attribute__((noinline)) void short_work(unsigned unit) {
  spin(3 * unit);
  in_short += 3 * unit;
}

__attribute__((noinline)) void finished(void) { ++sink; }

int main(int argc, char **argv) {
  const double end = now() + (argc > 1 ? atof(argv[1]) : 1);
  for (unsigned unit = 1; now() < end;)
    for (int i = 0; i < 2000; ++i) {
      unit = unit * 1664525u + 1013904223u;
      long_work(500 + (unit >> 24));
      short_work(500 + (unit >> 24));
    }
  finished();
  return 0;
}
