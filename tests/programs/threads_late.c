/* threads_late [late|short|both=both [SECONDS=0.25]]
 *
 * Starts threads after a profile has begun. `late`: main spins for 0.05 s, then starts four threads
 * that spin for SECONDS of CPU time each in `late_thread`. `short`: a hundred threads of 5 ms each
 * in `short_thread`, four at a time. Prints the CPU time of each kind by the threads' own clocks:
 * `main_cpu S`, `late_cpu S`, `short_cpu S`. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spin.h"

enum { LATE_THREADS = 4, SHORT_THREADS = 100, SHORT_AT_ONCE = 4 };
static double late_seconds = 0.25;

__attribute__((noinline, noclone)) static void *late_thread(void *cpu_seconds) {
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, late_seconds);
  *(double *)cpu_seconds = spin_clock(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

__attribute__((noinline, noclone)) static void *short_thread(void *cpu_seconds) {
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, 0.005);
  *(double *)cpu_seconds = spin_clock(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

/* Runs `count` threads, `at_once` at a time. Returns their CPU time. */
static double run_threads(void *(*body)(void *), int count, int at_once) {
  double sum = 0;
  for (int done = 0; done < count; done += at_once) {
    pthread_t threads[LATE_THREADS + SHORT_AT_ONCE];
    double cpu_seconds[LATE_THREADS + SHORT_AT_ONCE] = {0};
    for (int i = 0; i < at_once; ++i)
      if (pthread_create(&threads[i], NULL, body, &cpu_seconds[i]) != 0) {
        perror("pthread_create");
        exit(1);
      }
    for (int i = 0; i < at_once; ++i) {
      pthread_join(threads[i], NULL);
      sum += cpu_seconds[i];
    }
  }
  return sum;
}

__attribute__((noinline, noclone)) static void main_spin(void) {
  SPIN_CPU(CLOCK_THREAD_CPUTIME_ID, 0.05);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "both";
  if (argc > 2)
    late_seconds = atof(argv[2]);
  main_spin();
  double late_cpu = 0;
  double short_cpu = 0;
  if (strcmp(mode, "short") != 0)
    late_cpu = run_threads(late_thread, LATE_THREADS, LATE_THREADS);
  if (strcmp(mode, "late") != 0)
    short_cpu = run_threads(short_thread, SHORT_THREADS, SHORT_AT_ONCE);
  printf("main_cpu %.6f\nlate_cpu %.6f\nshort_cpu %.6f\n", spin_clock(CLOCK_THREAD_CPUTIME_ID),
         late_cpu, short_cpu);
  return 0;
}
