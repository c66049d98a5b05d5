/* stops [SECONDS=0.15]
 *
 * Causes every kind of stop, with SECONDS of CPU time in `work` before each: `here`, for
 * breakpoints; a write to `watched`; getppid(), for `catch syscall`; SIGUSR1, which is ignored;
 * then four lines that call `work`, for steps. */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

volatile int watched;

__attribute__((noinline, noclone)) void work(double seconds) {
  SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
}

__attribute__((noinline, noclone)) void here(int number) {
  __asm__ volatile("" : : "r"(number) : "memory");
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.15;
  signal(SIGUSR1, SIG_IGN);
  work(seconds);
  here(1);
  work(seconds);
  watched = 1;
  work(seconds);
  syscall(SYS_getppid);
  work(seconds);
  raise(SIGUSR1);
  work(seconds);
  here(2);
  work(seconds);
  work(seconds);
  work(seconds);
  work(seconds);
  return 0;
}
