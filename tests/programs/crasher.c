/* crasher [SECONDS=0.5]
 *
 * Dies of SIGSEGV in `crash_here`, after SECONDS in `before_crash`. Leaves no core file. */
#include <stdlib.h>
#include <sys/resource.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void before_crash(double seconds) {
  SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
}

__attribute__((noinline, noclone)) static void crash_here(volatile int *nowhere) { *nowhere = 1; }

int main(int argc, char **argv) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  before_crash(argc > 1 ? atof(argv[1]) : 0.5);
  crash_here(NULL);
  return 0;
}
