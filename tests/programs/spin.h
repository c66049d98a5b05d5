/* Burning CPU time. Macros, not functions: the time belongs to the function that uses them, whether
 * a profiler expands inlined calls or not. */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>
#include <time.h>

/* One step of a chain in which each multiplication waits for the one before: its time depends
 * neither on the alignment of the loop nor on the width of the machine. A leaf that asks for the
 * address of its frame has one: GCC leaves it out otherwise, whatever its options say, and a chain
 * of frame pointers then misses the caller. */
#define SPIN_STEPS(count)                                                                          \
  do {                                                                                             \
    __asm__ volatile("" : : "r"(__builtin_frame_address(0)));                                      \
    uint64_t spin_value_ = 1;                                                                      \
    for (uint64_t spin_left_ = (count); spin_left_ != 0; --spin_left_) {                           \
      spin_value_ = spin_value_ * 6364136223846793005U + 1442695040888963407U;                     \
      __asm__ volatile("" : "+r"(spin_value_));                                                    \
    }                                                                                              \
  } while (0)

/* Until `clock` has gone on by `seconds`; it is asked a few thousand times a second. */
#define SPIN_CPU(clock, seconds)                                                                   \
  do {                                                                                             \
    const double spin_end_ = spin_clock(clock) + (seconds);                                        \
    do                                                                                             \
      SPIN_STEPS(100000);                                                                          \
    while (spin_clock(clock) < spin_end_);                                                         \
  } while (0)

static inline double spin_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
