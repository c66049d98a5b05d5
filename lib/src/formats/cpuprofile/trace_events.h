// The duration events of a thread in a trace of Chrome.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/stack_profile.h"
#include "support/diagnostics.h"
#include "support/json_tree.h"
#include "support/result.h"

namespace tally::cpuprofile {

enum class Phase : uint8_t { begin, end, complete };

struct TraceEvent {
  int64_t at_ns = 0;
  int64_t duration_ns = 0; // of a complete event
  Phase phase = Phase::complete;
  StringId name{};
  uint64_t offset = 0; // in the file
};

// Counts the time in which each event is the innermost one of its thread.
class ThreadEvents {
public:
  ThreadEvents(StackProfileBuilder &builder, const std::string &source, Diagnostics &diagnostics)
      : builder_(builder), source_(source), diagnostics_(diagnostics) {}
  // Adds the events of a thread, and reorders them. `begin_ns` is where the axis begins.
  Result<void> add(std::vector<TraceEvent> &events, ThreadId thread, int64_t begin_ns);

private:
  struct Open {
    StackId stack = none<StackId>;
    int64_t end_ns = 0; // not after that of the event around it
  };

  void complete(std::vector<TraceEvent> &events);
  void move_to(int64_t at_ns);
  void close_until(int64_t at_ns);
  Result<void> open(const TraceEvent &event);
  void warn(std::string message, uint64_t offset);

  StackProfileBuilder &builder_;
  const std::string &source_;
  Diagnostics &diagnostics_;
  ThreadId thread_ = none<ThreadId>;
  int64_t begin_ns_ = 0, now_ns_ = 0;
  std::vector<Open> open_; // outermost first
  // Holds the parts of events that lie behind the ends of the events in which they began. It is a
  // heap, whose first element begins first.
  std::vector<TraceEvent> rests_;
  size_t rests_left_ = 0; // how many more there may be
  std::vector<int64_t> values_;
};

} // namespace tally::cpuprofile
