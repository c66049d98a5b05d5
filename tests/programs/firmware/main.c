// Sends frames to itself, some of them damaged. A timer interrupts it.
#include "firmware.h"

volatile unsigned main_ran[LINES];
#define RAN ++main_ran[__LINE__]

static volatile unsigned ticks;
static unsigned good, bad;

// An exception of the processor may come at any instruction.
void tick(void) {
  RAN;
  if (++ticks % 4 == 0)
    RAN;
}

static void account(int result) {
  RAN;
  if (result > 0) {
    RAN;
    ++good;
  } else if (result < 0) {
    RAN;
    ++bad;
  }
}

static void send(unsigned number) {
  unsigned count = number % 19; // 0, 17 and 18 are refused
  unsigned char sum = 0;
  RAN;
  account(receive(0x7e));
  account(receive((unsigned char)count));
  for (unsigned i = 0; i < count; ++i) {
    unsigned char byte = (unsigned char)(number + 3 * i);
    RAN;
    sum += byte == 0x7e ? 0 : byte; // an error: such a byte is missing in the sum
    account(receive(byte));
  }
  RAN;
  account(receive(sum));
}

__attribute__((used)) static void never(void) {
  RAN;
  good = bad = 0;
}

int main(void) {
  RAN;
  for (unsigned round = 1; round <= 3; ++round) {
    RAN;
    for (unsigned i = 0; i < 100 * round; ++i) {
      RAN;
      send(i);
    }
    checkpoint(round);
  }
  RAN;
  return 0;
}
