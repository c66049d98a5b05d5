/* queued [ROUNDS=300]
 *
 * Two threads, on one processor: one sleeps 1 ms and works for a moment, ROUNDS times, with the
 * lowest priority, while the other never sleeps. The last line is `queued_s WAITER SPINNER`, how
 * long each was ready without a processor, by the kernel. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int over;
static double spinner_s;

static double queued_s(void) {
  unsigned long long ran = 0, queued = 0;
  FILE *const file = fopen("/proc/thread-self/schedstat", "r");
  if (file && fscanf(file, "%llu %llu", &ran, &queued) != 2)
    queued = 0;
  if (file)
    fclose(file);
  return 1e-9 * (double)queued;
}

static void *spinner(void *unused) {
  while (!over) {
  }
  spinner_s = queued_s();
  return unused;
}

__attribute__((noinline)) static void work(void) {
  for (volatile int i = 0; i < 20000; ++i) {
  }
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 300;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  pthread_t other;
  pthread_create(&other, NULL, spinner, NULL);
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
  const struct timespec ms = {0, 1000000};
  for (int i = 0; i < rounds; ++i) {
    nanosleep(&ms, NULL);
    work();
  }
  const double waiter_s = queued_s();
  over = 1;
  pthread_join(other, NULL);
  printf("queued_s %.6f %.6f\n", waiter_s, spinner_s);
  return 0;
}
