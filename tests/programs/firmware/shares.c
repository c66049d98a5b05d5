// Spends its time in two functions, and counts by its timer how much in each.
#include "firmware.h"

enum { elsewhere, in_long, in_short };
volatile unsigned seen[3]; // by the timer
static volatile unsigned phase = elsewhere;
static volatile unsigned sink;

void tick(void) { ++seen[phase]; }

__attribute__((noinline)) static unsigned long_work(unsigned n) {
  unsigned s = 1;
  for (unsigned i = 0; i < n; ++i)
    s = s * 1664525u + 1013904223u;
  return s;
}

__attribute__((noinline)) static unsigned short_work(unsigned n) {
  unsigned s = 1;
  for (unsigned i = 0; i < n; ++i)
    s = (s >> 3) ^ i;
  return s;
}

int main(void) {
  for (;;) {
    phase = in_long;
    sink += long_work(70000);
    phase = in_short;
    sink += short_work(30000);
    phase = elsewhere;
  }
}
