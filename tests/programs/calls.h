/* Functions shared by calls.c and calls_more.c. */
#ifndef CALLS_H
#define CALLS_H

static inline __attribute__((always_inline)) unsigned mixed(unsigned n) {
  unsigned sum = n;
  for (unsigned i = 0; i < 3; ++i)
    sum = sum * 33 + (n >> i);
  return sum;
}

unsigned back(unsigned (*callback)(unsigned), unsigned n);
unsigned odd(unsigned n);
unsigned even(unsigned n);

#endif
