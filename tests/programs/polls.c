/* polls [SECONDS=1]
 *
 * A program that sleeps more than it works: calls of poll() that wait for a millisecond, and
 * between them about a tenth of a millisecond of work. Prints how many there were and how many of
 * them a signal cut short, `polls N`, `eintr N`. */
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
