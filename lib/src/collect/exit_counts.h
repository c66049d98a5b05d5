// Counts the CPU time that no tick shows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include <sys/types.h>

namespace tally {

// A clock begins anew in each thread and process, so that one that lives less than a period never
// ticks, and others lose half a tick on average: in a build with many short processes, a tenth of
// the time. But when a thread ends, the kernel writes how long it ran. What the ticks leave of that
// is carried from thread to thread, so that the sum is exact within a tick.
class ExitCounts {
public:
  explicit ExitCounts(uint64_t period_ns) : period_ns_(static_cast<int64_t>(period_ns)) {}

  void ticked(pid_t tid) { left_[tid].ns -= period_ns_; }
  // The kernel counted this CPU time of the thread. There is a count for each processor.
  void counted(pid_t tid, uint64_t cpu_ns) {
    Left &left = left_[tid];
    left.ns += static_cast<int64_t>(cpu_ns);
    left.is_counted = true;
  }
  // The thread has another number from now on.
  void renumbered(pid_t from, pid_t to);
  // The thread has ended. Its counts may come shortly afterwards.
  void ended(pid_t tid, uint64_t at_ns) { ended_.emplace_back(tid, at_ns); }

  // Calls handle(tid, ticks) for each thread that ended so long before `at_ns` that all its counts
  // have come; for all that have ended if it is UINT64_MAX. `ticks` is the number of ticks that its
  // time amounts to, beside those it had.
  template <class Handle> void settle(uint64_t at_ns, Handle &&handle) {
    while (!ended_.empty() && ended_.front().second <= at_ns - std::min(at_ns, longest_delay_ns)) {
      const pid_t tid = ended_.front().first;
      ended_.pop_front();
      handle(tid, take(tid));
    }
  }
  // Returns whether the thread has ended and is not settled.
  bool has_ended(pid_t tid) const;

  void clear(); // forgets the counts, but not which threads have ended

private:
  static constexpr uint64_t longest_delay_ns = 10'000'000;
  int64_t take(pid_t tid);

  struct Left {
    int64_t ns = 0; // counted, less the ticks
    bool is_counted = false;
  };

  int64_t period_ns_;
  std::unordered_map<pid_t, Left> left_;         // by thread
  std::deque<std::pair<pid_t, uint64_t>> ended_; // and when, oldest first
  int64_t carry_ns_ = 0;                         // less than a period
};

} // namespace tally
