/* polls [SECONDS=1]
 *
 * Sleeps more than it works: it calls poll() with a timeout of a millisecond, and works about a
 * tenth of a millisecond between the calls. Prints the number of calls, `polls N`, and how many of
 * them a signal interrupted, `eintr N`. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void work(void) { SPIN_STEPS(100000); }

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const double end = spin_clock(CLOCK_MONOTONIC) + seconds;
  int polls = 0, interrupted = 0;
  while (spin_clock(CLOCK_MONOTONIC) < end) {
    ++polls;
    if (poll(NULL, 0, 1) < 0 && errno == EINTR)
      ++interrupted;
    work();
  }
  printf("polls %d\neintr %d\n", polls, interrupted);
  return 0;
}
