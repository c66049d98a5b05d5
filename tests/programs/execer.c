/* execer [SECONDS=1 [STAGE]]
 *
 * A process that executes another program: spins for SECONDS in `before_exec`, then executes itself
 * with a STAGE, which spins as long in `after_exec`. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void before_exec(double seconds) {
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, seconds);
}

__attribute__((noinline, noclone)) static void after_exec(double seconds) {
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, seconds);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  if (argc > 2) {
    after_exec(seconds);
    return 0;
  }
  before_exec(seconds);
  execl("/proc/self/exe", argv[0], argc > 1 ? argv[1] : "1", "after", (char *)NULL);
  perror("execl");
  return 1;
}
