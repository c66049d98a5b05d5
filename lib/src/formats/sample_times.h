// The samples of each thread in the order of time, and what their values measure, for formats that
// draw a time axis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/stack_profile.h"
#include "support/result.h"

namespace tally {

// A part of a value.
struct TimedValue {
  uint64_t at_ns = 0; // the time of a tick or event, or the beginning of an interval
  uint32_t row = 0;   // of StackProfile::sample()
  uint32_t value = 0;
  int64_t amount = 0; // positive
};

struct ThreadTimes {
  ThreadId thread = none<ThreadId>; // none for the samples whose thread is unknown
  std::vector<TimedValue> timed;    // in the order of time
  std::vector<TimedValue> untimed;  // what no time covers, in the order of rows; at_ns is 0
};

// Returns the threads that have samples in their order; the samples of unknown threads come last.
// The amounts add up to the values of the samples. A negative value is an error.
Result<std::vector<ThreadTimes>> times_of_threads(const StackProfile &profile);

enum class Measure : uint8_t { running, waiting, queued, other };

// What a value measures. All times of a thread but `other` exclude each other.
struct ValueRole {
  Measure measure = Measure::other;
  int64_t unit_ns = 0; // the nanoseconds of one unit; 0 if it is not a time
};

// Returns the role of each value. Each role but `other` has one value at most. The time for which a
// thread ran is the first value, if it counts the ticks of a clock whose period is known; otherwise
// that named `cpu`, or the first time that is not an interval.
Result<std::vector<ValueRole>> roles_of_values(const StackProfile &profile);

// Returns "worker", "thread 12", "unknown thread", or "all threads" if none is known.
std::string thread_title(const StackProfile &profile, ThreadId id);

} // namespace tally
