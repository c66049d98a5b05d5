// Converts samples of several events to the values of a profile, for perf.data and perf script.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/stack_profile.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace tally {

// The time of a sample whose time is not known.
inline constexpr uint64_t no_time = UINT64_MAX;

struct EventRow {
  StackId stack;
  ThreadId thread;
  uint32_t event;
  int64_t period;
  uint64_t at_ns = no_time; // since any moment, which is the same for all rows
};

struct EventKind {
  std::string name;
  bool is_clock = false;   // its period is time
  bool has_periods = true; // otherwise each sample counts as one
  uint64_t period_ns = 0;  // the period of a clock; 0 if unknown
};

// Each sample has a value for each event, so with very many events a profile would need far more
// memory than its file has bytes. Recording all system calls takes about 700 tracepoints.
inline constexpr size_t most_sampled_events = 1024;

// Adds the samples to `builder`. The first value counts the samples of the first event that has
// samples. The values after it are the costs of the events. The first clock is named `cpu`. Events
// are never added up, because two clocks measure the same time. If the times of all rows are known,
// the samples have times, too, the first of which is 0. `source` names the file in errors and
// diagnostics.
Result<void> add_event_rows(StackProfileBuilder &builder, std::span<const EventKind> events,
                            std::span<const EventRow> rows, Diagnostics &diagnostics,
                            const std::string &source);

// Returns the event's name without a modifier that only requests precision ("cycles:ppp").
std::string_view without_precision(std::string_view name);

} // namespace tally
