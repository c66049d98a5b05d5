/* deep [SECONDS=0.3]
 *
 * Spins below sixteen frames of 2 KiB, a stack that a dump of 16 KiB does not hold. */
#include <stdlib.h>

#include "spin.h"

__attribute__((noinline, noclone)) static unsigned char descend(int frames, double seconds) {
  volatile unsigned char room[2048];
  room[0] = (unsigned char)frames;
  if (frames == 0)
    SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
  else
    room[0] = (unsigned char)(room[0] + descend(frames - 1, seconds));
  return room[0];
}

int main(int argc, char **argv) { return descend(16, argc > 1 ? atof(argv[1]) : 0.3) == 0; }
