// Measures how long a sampled process has run and how long it was stopped.
#pragma once

#include <algorithm>
#include <cstdint>

#include "support/clock.h"

namespace tally {

// All times are in nanoseconds of CLOCK_MONOTONIC.
class RunClock {
public:
  // The time of the event that is being handled, if the front learned of it later. 0 means now.
  void set_event_time(uint64_t at_ns) { event_ns_ = at_ns; }
  // The event's time, never before the previous change and never in the future.
  uint64_t event_time() const {
    const uint64_t now = now_ns();
    return event_ns_ == 0 ? now : std::clamp(event_ns_, std::min(changed_at_ns_, now), now);
  }

  bool is_running() const { return running_; }

  // Records that the process is stopped. The sums of an earlier sampler are kept.
  void set_stopped() {
    running_ = false;
    changed_at_ns_ = now_ns();
  }
  // Sets the sums to 0. The process keeps running or stays stopped.
  void clear() {
    ran_ns_ = stopped_ns_ = 0;
    changed_at_ns_ = now_ns();
  }
  void resume() { change(true, stopped_ns_); }
  void stop() { change(false, ran_ns_); }
  // Counts the time since the last change as stopped time.
  void close() { change(false, stopped_ns_); }
  // Drops the time since the last change, because the sampler never worked.
  void abandon() { running_ = false; }

  uint64_t changed_at_ns() const { return changed_at_ns_; } // when it was resumed or stopped
  uint64_t ran_ns() const { return ran_ns_; }               // up to the last change
  uint64_t ran_ns(uint64_t now) const { return ran_ns_ + (running_ ? now - changed_at_ns_ : 0); }
  uint64_t stopped_ns() const { return stopped_ns_; } // up to the last change
  uint64_t stopped_ns(uint64_t now) const {
    return stopped_ns_ + (running_ ? 0 : now - changed_at_ns_);
  }

private:
  void change(bool running, uint64_t &sum) {
    const uint64_t now = event_time();
    sum += now - changed_at_ns_;
    changed_at_ns_ = now;
    running_ = running;
  }

  bool running_ = false;
  uint64_t changed_at_ns_ = 0;
  uint64_t event_ns_ = 0;
  uint64_t ran_ns_ = 0;
  uint64_t stopped_ns_ = 0;
};

} // namespace tally
