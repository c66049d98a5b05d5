/* faults [SLEEPS=0]
 *
 * Causes events whose numbers are known: `touch` 300 page faults, `by_read` 100 that the kernel
 * makes for the program, and `sleeps` SLEEPS context switches. Prints how often the kernel took the
 * processor from the program while it slept. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { page = 4096, touched = 300, read_into = 100 };

__attribute__((noinline, noclone)) void touch(volatile char *memory) {
  for (int i = 0; i < touched; ++i)
    memory[i * page] = 1;
}

__attribute__((noinline, noclone)) int by_read(char *memory, int zeros) {
  for (int i = 0; i < read_into; ++i)
    if (read(zeros, memory + i * page, 1) != 1)
      return 1;
  return 0;
}

__attribute__((noinline, noclone)) void sleeps(int times) {
  for (int i = 0; i < times; ++i)
    usleep(1000);
}

static long preemptions(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : -1;
}

static char *fresh(size_t pages) {
  void *const memory =
      mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || madvise(memory, pages * page, MADV_NOHUGEPAGE) != 0)
    exit(1);
  return memory;
}

int main(int argc, char **argv) {
  touch(fresh(touched));
  const int failed = by_read(fresh(read_into), open("/dev/zero", O_RDONLY));
  if (argc > 1) {
    const long before = preemptions();
    sleeps(atoi(argv[1]));
    printf("preempted %ld times\n", preemptions() - before);
  }
  return failed;
}
