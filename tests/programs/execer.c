/* execer [SECONDS=1 [STAGE]]
 *
 * A process that executes another program: spins for SECONDS in `before_exec`, then executes itself
 * with the STAGE "after", which spins as long in `after_exec`. With the STAGE "vfork", a child that
 * vfork() makes does so, and the process waits for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
  const int in_child = argc > 2 && strcmp(argv[2], "vfork") == 0;
  if (argc > 2 && !in_child) {
    after_exec(seconds);
    return 0;
  }
  before_exec(seconds);
  if (in_child && vfork() != 0) {
    wait(NULL);
    return 0;
  }
  execl("/proc/self/exe", argv[0], argc > 1 ? argv[1] : "1", "after", (char *)NULL);
  perror("execl");
  return 1;
}
