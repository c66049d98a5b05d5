/* deep [SECONDS=0.3 [FRAMES]]
 *
 * Spins below sixteen frames of 2 KiB, a stack that a dump of 16 KiB does not hold. With FRAMES, it
 * has so many, and spins in each of them. */
#include <stdlib.h>

#include "spin.h"

__attribute__((noinline, noclone)) static unsigned char descend(int frames, double seconds,
                                                                int in_each) {
  volatile unsigned char room[2048];
  room[0] = (unsigned char)frames;
  if (frames == 0 || in_each)
    SPIN_CPU(CLOCK_PROCESS_CPUTIME_ID, seconds);
  if (frames != 0)
    room[0] = (unsigned char)(room[0] + descend(frames - 1, seconds, in_each));
  return room[0];
}

int main(int argc, char **argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.3;
  const int frames = argc > 2 ? atoi(argv[2]) : 16;
  return descend(frames, argc > 2 ? seconds / (frames + 1) : seconds, argc > 2) == 0;
}
