/* Two threads that wake each other N times (pingpong N) by two pipes. Prints how often the process
 * gave up a processor by itself. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static int there[2], back[2], rounds;

static void pass_on(int from, int to) {
  char byte = 0;
  if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
    exit(1);
}

static void *echo(void *unused) {
  for (int i = 0; i < rounds; ++i)
    pass_on(there[0], back[1]);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t other;
  rounds = argc > 1 ? atoi(argv[1]) : 1000;
  if (pipe(there) != 0 || pipe(back) != 0 || pthread_create(&other, NULL, echo, NULL) != 0 ||
      write(back[1], "", 1) != 1)
    return 1;
  for (int i = 0; i < rounds; ++i)
    pass_on(back[0], there[1]);
  pthread_join(other, NULL);
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("%ld\n", used.ru_nvcsw);
  return 0;
}
