// From samples of several events to the values of a profile: what perf.data and perf script share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

struct EventRow {
  StackId stack;
  ThreadId thread;
  uint32_t event;
  int64_t period;
};

struct EventKind {
  std::string name;
  bool is_clock = false;   // its period is time
  bool has_periods = true; // else each sample counts as one
  uint64_t period_ns = 0;  // of a clock; 0: not known
};

// Each sample has a value of each event: with very many, a profile would need far more memory than
// its file has bytes. All system calls are about 700 tracepoints.
inline constexpr size_t most_sampled_events = 1024;

// The first value counts the samples of the first event that has any; each event's own cost
// follows. The first clock is `cpu`. Events are never added up: two clocks measure the same time.
Result<void> add_event_rows(StackProfileBuilder &builder, std::span<const EventKind> events,
                            std::span<const EventRow> rows, Diagnostics &diagnostics,
                            const std::string &source);

// Without the modifier that only asks for precision ("cycles:ppp").
std::string_view without_precision(std::string_view name);

} // namespace tally
