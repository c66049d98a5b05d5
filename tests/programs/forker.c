/* forker [SECONDS=1]
 *
 * Forks a child that spins for SECONDS in `child_spin` while the parent spins in `parent_spin`. A
 * profile of the parent must hold nothing of the child. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void child_spin(double seconds) {
  SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
}

__attribute__((noinline, noclone)) static void parent_spin(double seconds) {
  SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const pid_t child = fork();
  if (child < 0) {
    perror("fork");
    return 1;
  }
  if (child == 0) {
    child_spin(seconds);
    _exit(0);
  }
  parent_spin(seconds);
  waitpid(child, NULL, 0);
  return 0;
}
