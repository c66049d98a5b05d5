/* own_signal
 *
 * Handles SIGURG, the signal that the interrupt backend selects first in a running program. Raises
 * it 20 times, at intervals of 20 ms of CPU time, after it has called `raised`. Prints
 * `got N of 20`. */
#include <signal.h>
#include <stdio.h>

#include "spin.h"

static volatile sig_atomic_t got;

static void count(int number) {
  (void)number;
  got += 1;
}

__attribute__((noinline, noclone)) void raised(void) { __asm__ volatile("" : : : "memory"); }

int main(void) {
  signal(SIGURG, count);
  raised();
  for (int i = 0; i < 20; ++i) {
    raise(SIGURG);
    SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, 0.02);
  }
  printf("got %d of 20\n", (int)got);
  return 0;
}
