// The times in which a debugger held a process although its run went on for the user.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace tally {

// All times are in nanoseconds of CLOCK_MONOTONIC. A thread that looks at the process fills it,
// while others read it.
class HeldTimes {
public:
  // The process is held from `at_ns` on, until close(). A time before the end of the last hold is
  // taken for that end.
  void open(uint64_t at_ns);
  // The process goes on. The hold counts for its length, or for `length_ns` if that is more, but
  // for no more than has passed since the hold before it.
  void close(uint64_t at_ns, uint64_t length_ns = 0);
  void drop_open(); // forgets a hold that is not closed

  // Returns for how long the process was held until a time, since this object exists.
  uint64_t until(uint64_t at_ns) const;
  // Returns for how long the process was held between two times.
  uint64_t between(uint64_t from_ns, uint64_t to_ns) const;

private:
  struct Hold {
    uint64_t begin_ns = 0, end_ns = 0;
    uint64_t before_ns = 0; // what all holds before this one count for
    uint64_t length_ns = 0; // what this one counts for
  };
  static constexpr size_t most_holds = 4096; // the oldest are forgotten, but still count

  uint64_t before(uint64_t at_ns) const; // the mutex must be held

  mutable std::mutex mutex_;
  std::deque<Hold> holds_; // in the order of their times
  std::optional<uint64_t> open_ns_;
};

} // namespace tally
