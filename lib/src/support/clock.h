// The clock that samples and events are timed by.
#pragma once

#include <cerrno>
#include <cstdint>

#include <time.h>

namespace tally {

// CLOCK_MONOTONIC, as perf's records bear it.
inline uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The whole time, whatever signals arrive.
inline void sleep_ns(uint64_t ns) {
  timespec left{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

} // namespace tally
