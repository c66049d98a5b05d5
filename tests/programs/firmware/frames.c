// Receives frames: 0x7e, the length, as many bytes, and their sum.
#include "firmware.h"

volatile unsigned frames_ran[LINES];
#define RAN ++frames_ran[__LINE__]

static enum { IDLE, LENGTH, BODY, SUM } state;
static unsigned char body[16];
static unsigned length, used;

static unsigned char sum_of(const unsigned char *bytes, unsigned count) {
  unsigned char sum = 0;
  RAN;
  for (unsigned i = 0; i < count; ++i) {
    RAN;
    sum += bytes[i];
  }
  RAN;
  return sum;
}

static int damaged(void) {
  RAN;
  state = IDLE;
  return -1;
}

int receive(unsigned char byte) {
  RAN;
  switch (state) {
  case IDLE:
    RAN;
    if (byte == 0x7e)
      state = LENGTH;
    return 0;
  case LENGTH:
    RAN;
    if (byte == 0 || byte > sizeof body)
      return damaged();
    RAN;
    length = byte;
    used = 0;
    state = BODY;
    return 0;
  case BODY:
    RAN;
    body[used++] = byte;
    if (used == length) {
      RAN;
      state = SUM;
    }
    return 0;
  default:
    RAN;
    if (byte != sum_of(body, length))
      return damaged();
    RAN;
    state = IDLE;
    return (int)length;
  }
}
