/* dispatcher [TIMES=2000]: calls `once` once, and then `again` TIMES times, all from one place, as
 * an interpreter calls its functions. */
#include <stdlib.h>

static volatile int work;

__attribute__((noinline, noclone)) static void once(void) {
  for (int i = 0; i < 1000; ++i)
    ++work;
}

__attribute__((noinline, noclone)) static void again(void) { ++work; }

static void (*volatile next)(void) = once;

int main(int argc, char **argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 2000;
  for (int i = 0; i <= times; ++i) {
    next();
    next = again;
  }
  return 0;
}
