/* exit_status [STATUS=0 [SECONDS=0.2]]
 *
 * Exits with STATUS after SECONDS of CPU time in `before_exit`. */
#include <stdlib.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void before_exit(double seconds) {
  SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
}

int main(int argc, char **argv) {
  before_exit(argc > 2 ? atof(argv[2]) : 0.2);
  return argc > 1 ? atoi(argv[1]) : 0;
}
