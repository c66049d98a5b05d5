/* passes STEPS [COUNT=100]
 *
 * Calls `work` COUNT times, which takes the time of STEPS steps. Prints the mean CPU time of a call
 * as `pass_s`, measured beforehand with a copy of `work` that no debugger stops. Then it calls
 * `countdown`, in which a loop of a million rounds begins two instructions behind the entry. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sum;

#define SPIN_STEPS                                                                                 \
  for (unsigned long i = 0; i < steps; ++i)                                                        \
  sum = sum + i

__attribute__((noinline, noclone)) static void work(unsigned long steps) { SPIN_STEPS; }
__attribute__((noinline, noclone)) static void copy(unsigned long steps) { SPIN_STEPS; }

void countdown(void);
#if defined(__x86_64__)
__asm__(".globl countdown\n.type countdown, @function\ncountdown:\n"
        "  mov $1000000, %eax\n  nop\n1: dec %eax\n  jnz 1b\n  ret\n"
        ".size countdown, . - countdown\n");
#else
void countdown(void) {}
#endif

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  const unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  const int copies = steps < 10000 ? 10000 : 20;
  const double begin = cpu_seconds();
  for (int i = 0; i < copies; ++i)
    copy(steps);
  printf("pass_s %.9f\n", (cpu_seconds() - begin) / copies);
  fflush(stdout);
  for (int i = 0; i < count; ++i)
    work(steps);
  countdown();
  return 0;
}
