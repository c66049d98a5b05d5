/* syscalls [SECONDS=1]
 *
 * Spends time in the kernel: `ask_kernel` calls getppid() and `copy_zeros` reads from /dev/zero, in
 * turn, for SECONDS of CPU time. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

__attribute__((noinline, noclone)) static void ask_kernel(int calls) {
  for (int i = 0; i < calls; ++i)
    syscall(SYS_getppid);
}

__attribute__((noinline, noclone)) static void copy_zeros(int zeros, int calls) {
  static char buffer[65536];
  for (int i = 0; i < calls; ++i)
    if (read(zeros, buffer, sizeof buffer) < 0)
      perror("read");
}

int main(int argc, char **argv) {
  const double end = spin_clock(CLOCK_PROCESS_CPUTIME_ID) + (argc > 1 ? atof(argv[1]) : 1);
  const int zeros = open("/dev/zero", O_RDONLY);
  if (zeros < 0) {
    perror("/dev/zero");
    return 1;
  }
  while (spin_clock(CLOCK_PROCESS_CPUTIME_ID) < end) {
    ask_kernel(1000);
    copy_zeros(zeros, 20);
  }
  close(zeros);
  return 0;
}
