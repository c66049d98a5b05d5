/* passes STEPS [COUNT=100]
 *
 * Calls `work` COUNT times, which takes the time of STEPS steps. Before each call it measures the
 * CPU time of a copy of `work` that no debugger stops, because the speed of a processor changes
 * within a run. Prints the median of these times as `pass_s`. Then it calls `countdown`, in which a
 * loop of a million rounds begins two instructions behind the entry. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long result;

/* A chain of multiplications takes the same time on each round. What a round stores and loads again
 * may take 0.3 or 1.2 ns, as the processor predicts it. */
#define SPIN_STEPS                                                                                 \
  unsigned long value = steps;                                                                     \
  for (unsigned long i = 0; i < steps; ++i)                                                        \
    value = value * 6364136223846793005 + 1;                                                       \
  result = value

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

static int is_greater(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

int main(int argc, char **argv) {
  const unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
  const int count = argc > 2 ? atoi(argv[2]) : 100;
  const int copies = steps < 10000 ? 50 : 1; // a clock that is read takes a microsecond
  double *times = calloc((size_t)count, sizeof *times);
  if (!times)
    return 1;
  for (int i = 0; i < count; ++i) {
    const double begin = cpu_seconds();
    for (int j = 0; j < copies; ++j)
      copy(steps);
    times[i] = (cpu_seconds() - begin) / copies;
    work(steps);
  }
  countdown();
  qsort(times, (size_t)count, sizeof *times, is_greater);
  printf("pass_s %.9f\n", times[(count - 1) / 2]);
  free(times);
  return 0;
}
