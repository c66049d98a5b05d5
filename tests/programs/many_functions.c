/* many_functions [SECONDS=1]
 *
 * Makes long tables: 256 functions take equal shares of SECONDS of CPU time, `many_0000` to
 * `many_3333`, with four digits from 0 to 3. */
#include <stdlib.h>

#include "spin.h"

#define MANY(name)                                                                                 \
  __attribute__((noinline, noclone)) static void many_##name(void) { SPIN_STEPS(500); }
#define NAME(name) many_##name,

#define EACH_4(use, digits) use(digits##0) use(digits##1) use(digits##2) use(digits##3)
#define EACH_16(use, digits)                                                                       \
  EACH_4(use, digits##0) EACH_4(use, digits##1) EACH_4(use, digits##2) EACH_4(use, digits##3)
#define EACH_64(use, digits)                                                                       \
  EACH_16(use, digits##0) EACH_16(use, digits##1) EACH_16(use, digits##2) EACH_16(use, digits##3)
#define EACH_256(use) EACH_64(use, 0) EACH_64(use, 1) EACH_64(use, 2) EACH_64(use, 3)

EACH_256(MANY)

static void (*const functions[])(void) = {EACH_256(NAME)};

int main(int argc, char **argv) {
  const double end = spin_clock(CLOCK_PROCESS_CPUTIME_ID) + (argc > 1 ? atof(argv[1]) : 1);
  while (spin_clock(CLOCK_PROCESS_CPUTIME_ID) < end)
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)
      functions[i]();
  return 0;
}
