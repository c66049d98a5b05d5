/* Counts its own program counters by profil(), and checks that most of them are in its loop. It
 * needs only a C library. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <tally/mon.h>

enum { bytes_of_code = 4096, most_of_loop = 256 };

static unsigned short counts[bytes_of_code / 2]; /* one for two bytes of code */
static volatile unsigned sink;

__attribute__((noinline)) static void work(void) {
  for (unsigned i = 0; i < 100000; ++i)
    sink += i;
}

int main(void) {
  const size_t start = (size_t)(uintptr_t)work;
  if (profil(counts, sizeof counts, start, 0xffff) != 0) {
    perror("profil");
    return 1;
  }
  while (clock() < CLOCKS_PER_SEC)
    work();
  profil(counts, sizeof counts, start, 0);
  unsigned in_loop = 0, all = 0;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    all += counts[i];
    if (i < most_of_loop / 2)
      in_loop += counts[i];
  }
  printf("%u of %u ticks are in the loop\n", in_loop, all);
  return all < 50 || in_loop < all * 9 / 10;
}
