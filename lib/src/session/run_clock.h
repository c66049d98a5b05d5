// Measures how long a sampled process has run and how long it was stopped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "collect/held_times.h"
#include "support/clock.h"

namespace tally {

// All times are in nanoseconds of CLOCK_MONOTONIC.
class RunClock {
public:
  // While the process runs for the user, the time in which it is held counts as stopped.
  explicit RunClock(std::shared_ptr<const HeldTimes> held) : held_(std::move(held)) {}

  const std::shared_ptr<const HeldTimes> &held() const { return held_; }
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
  void resume() { change(true, false); }
  void stop() { change(false, true); }
  // Counts the time since the last change as stopped time.
  void close() { change(false, false); }
  // Drops the time since the last change, because the sampler never worked.
  void abandon() { running_ = false; }

  uint64_t changed_at_ns() const { return changed_at_ns_; } // when it was resumed or stopped
  uint64_t ran_ns() const { return ran_ns_; }               // up to the last change
  uint64_t ran_ns(uint64_t now) const { return ran_ns_ + (running_ ? ran_since_change(now) : 0); }
  uint64_t stopped_ns() const { return stopped_ns_; } // up to the last change
  uint64_t stopped_ns(uint64_t now) const {
    return stopped_ns_ + (now - changed_at_ns_) - (running_ ? ran_since_change(now) : 0);
  }

private:
  uint64_t ran_since_change(uint64_t now) const {
    return now - changed_at_ns_ - held_->between(changed_at_ns_, now);
  }
  void change(bool running, bool ran) {
    const uint64_t now = event_time();
    const uint64_t ran_ns = ran ? ran_since_change(now) : 0;
    ran_ns_ += ran_ns;
    stopped_ns_ += now - changed_at_ns_ - ran_ns;
    changed_at_ns_ = now;
    running_ = running;
  }

  std::shared_ptr<const HeldTimes> held_;

  bool running_ = false;
  uint64_t changed_at_ns_ = 0;
  uint64_t event_ns_ = 0;
  uint64_t ran_ns_ = 0;
  uint64_t stopped_ns_ = 0;
};

} // namespace tally
