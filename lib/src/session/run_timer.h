// Measures each run of the debugged process: from a resume to the next stop that the user sees.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "collect/held_times.h"
#include "session/session.h"

namespace tally {

class RunTimer {
public:
  explicit RunTimer(std::shared_ptr<const HeldTimes> held) : held_(std::move(held)) {}
  // Follows the process. Returns the run that this event ends, if it is a stop.
  std::optional<RunTimes> event(const DebugEvent &event);
  // Returns the last run that a stop has ended.
  const std::optional<RunTimes> &last() const { return last_; }
  int32_t running_pid() const { return running_ ? pid_ : 0; } // 0 if no run is measured

private:
  std::shared_ptr<const HeldTimes> held_;
  int32_t pid_ = 0; // the process of the following members
  bool running_ = false;
  uint64_t resumed_ns_ = 0;
  // The CPU time at the last stop. It stays the same until the process resumes, whereas the resume
  // is reported when the process already runs.
  std::optional<uint64_t> cpu_ns_;
  std::optional<RunTimes> last_;
};

// Returns "[11.3 ms, 10.1 ms CPU]". Debuggers need a part of a millisecond for a stop, so that a
// shorter run is "under 1 ms".
std::string text_of(const RunTimes &run);

} // namespace tally
