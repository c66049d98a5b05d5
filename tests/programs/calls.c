/* Makes calls of all kinds, for tools that count them: recursion, mutual recursion across files, a
 * callback, an inlined function of a header, a static function whose name is in both files, and
 * (with an argument) a thread. */
#include "calls.h"

#include <pthread.h>

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE unsigned helper(unsigned n) { return mixed(n) + 1; }

NOINLINE unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

NOINLINE unsigned even(unsigned n) { return n == 0 ? 1 : odd(n - 1) + (mixed(n) & 1); }

static NOINLINE unsigned called_back(unsigned n) { return helper(n) + (n ? 1 : 0); }

static NOINLINE unsigned work(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 0; i < n; ++i)
    sum += helper(i) + back(called_back, i);
  return sum + fibonacci(12) + even(9) + odd(8);
}

static void *in_thread(void *result) {
  *(unsigned *)result = work(5);
  return NULL;
}

int main(int argc, char **argv) {
  (void)argv;
  unsigned first = work(20), second = 0;
  pthread_t thread;
  if (argc > 1 && pthread_create(&thread, NULL, in_thread, &second) == 0)
    pthread_join(thread, NULL);
  return first + second == 1; /* uses both */
}
