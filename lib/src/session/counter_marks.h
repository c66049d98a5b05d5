// The counters at earlier stops, which `--since` names.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "live/live_program.h"
#include "session/front.h"
#include "session/settings.h"

namespace tally {

// The counters at one stop, with the stacks of all threads.
struct CounterMark {
  uint64_t generation = 0; // of LiveProgram
  std::vector<live::ModuleIdentity> loaded;
  live::CounterSnapshot snapshot;
  std::vector<live::StoppedThread> threads;
};
using CounterMarkPtr = std::shared_ptr<const CounterMark>;

class CounterMarks {
public:
  CounterMarks(const Front &front, const Settings &settings) : front_(front), settings_(settings) {}

  void set(CounterMarkPtr mark) { mark_ = std::move(mark); } // by `coverage mark`
  void clear();
  void forget_program(); // also how long its marks took
  void resumed(bool unseen);
  // Forgets the stops, and returns the mark of the newest; null if it has none. A stop that is not
  // marked breaks the chain, because the stop before it is not the previous one of the next.
  CounterMarkPtr forget_stops();
  void add_stop(CounterMarkPtr previous, CounterMarkPtr now);
  void add_time(std::chrono::nanoseconds time); // that the mark of a stop took

  // Returns whether the next stop makes a mark: "on", or "off" with the reason in parentheses.
  std::string automatic() const;
  bool has_mark() const { return mark_ != nullptr; }
  bool has_stop() const { return stop_before_ != nullptr; } // before the newest
  const CounterMarkPtr &newest_stop() const { return last_stop_; }
  // Returns the mark that `since` names, "mark" or "stop"; null if it is empty. If there is none,
  // the error, which names `command`, says why.
  Result<CounterMarkPtr> since(const std::string &command, std::string_view since) const;

private:
  const Front &front_;
  const Settings &settings_;
  CounterMarkPtr mark_;
  CounterMarkPtr last_stop_;    // of the newest stop; null if it has none
  CounterMarkPtr stop_before_;  // null if last_stop_ is
  bool resumed_unseen_ = false; // stop_before_ is null because nobody saw how the program went on
  uint64_t newest_ns_ = 0;      // that the newest automatic mark took; 0 if there was none
  unsigned slow_ = 0;           // how many of the newest ones were slow
};

} // namespace tally
