/* Macros that use CPU time. They are not functions, so that the time belongs to the function that
 * uses them, whether or not a profiler expands inlined calls. */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>
#include <time.h>

/* Runs a chain of steps in which each multiplication depends on the previous one, so that the time
 * depends neither on the loop's alignment nor on the width of the machine. A leaf function that
 * uses its frame address has a frame. Otherwise GCC omits it, whatever its options say, and a chain
 * of frame pointers misses the caller. */
#define SPIN_STEPS(count)                                                                          \
  do {                                                                                             \
    __asm__ volatile("" : : "r"(__builtin_frame_address(0)));                                      \
    uint64_t spin_value_ = 1;                                                                      \
    for (uint64_t spin_left_ = (count); spin_left_ != 0; --spin_left_) {                           \
      spin_value_ = spin_value_ * 6364136223846793005U + 1442695040888963407U;                     \
      __asm__ volatile("" : "+r"(spin_value_));                                                    \
    }                                                                                              \
  } while (0)

/* Spins until `clock` has advanced by `seconds`. Reads it a few thousand times a second. */
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
