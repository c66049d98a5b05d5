/* asks_often [SECONDS=2 [THREADS=1]]
 *
 * Makes short system calls, about one every 10 µs, and spends nearly all of its time in `work`. A
 * pending signal is often noticed at the end of such a call. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

static double seconds = 2;

__attribute__((noinline, noclone)) static void work(void) { SPIN_STEPS(6000); }

static void *ask(void *unused) {
  const double end = spin_clock(CLOCK_MONOTONIC) + seconds;
  while (spin_clock(CLOCK_MONOTONIC) < end)
    for (int i = 0; i < 100; ++i) {
      work();
      syscall(SYS_getppid);
    }
  return unused;
}

int main(int argc, char **argv) {
  enum { MOST = 16 };
  pthread_t threads[MOST];
  if (argc > 1)
    seconds = atof(argv[1]);
  int count = argc > 2 ? atoi(argv[2]) : 1;
  if (count > MOST)
    count = MOST;
  for (int i = 1; i < count; ++i)
    if (pthread_create(&threads[i], NULL, ask, NULL) != 0)
      return 1;
  ask(NULL);
  for (int i = 1; i < count; ++i)
    pthread_join(threads[i], NULL);
  return 0;
}
