// The clock that provides the times of samples and events.
#pragma once

#include <cerrno>
#include <cstdint>

#include <time.h>

namespace tally {

inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Returns CLOCK_MONOTONIC, as in perf's records.
inline uint64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }

// Returns the CPU time of this thread. Unlike wall time, it does not grow while the thread waits
// for a processor.
inline uint64_t own_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

// Sleeps for the full time, even if signals arrive.
inline void sleep_ns(uint64_t ns) {
  timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

} // namespace tally
