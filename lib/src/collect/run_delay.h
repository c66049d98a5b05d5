// Divides the intervals in which threads have no processor by the kernel's own account.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>

#include <sys/types.h>

namespace tally {

// A thread that waits is woken, and then stands in the queue of a processor. The records of
// switches do not show when it was woken. The kernel adds up how long each thread has stood in
// queues (schedstat); what is more than the intervals of preempted threads is the time after
// wake-ups. A total does not show which of several waits it belongs to, so each gets the same
// share, up to its length.
class RunDelay {
public:
  // Returns the time for which the thread was runnable without a processor, since it exists, or
  // nothing if that is not known. Threads that have ended are not known.
  using Read = std::function<std::optional<uint64_t>(pid_t tid)>;
  static Read from_proc(); // of /proc/TID/schedstat

  struct Interval {
    pid_t tid = 0;
    uint64_t ns = 0;
    bool is_queued = false; // all of it
    uint64_t queued_ns = 0; // the result: the last part of the interval
  };

  explicit RunDelay(Read read) : read_(std::move(read)) {}

  // Begins the account of a thread that exists already.
  void begin(pid_t tid);
  void began(pid_t tid) { threads_.insert_or_assign(tid, Thread{}); } // it does not exist before
  void ended(pid_t tid) { threads_.erase(tid); }
  void clear() { threads_.clear(); }
  void restart(); // begins all threads
  // Records are lost: what comes until the next call belongs to intervals that are not known.
  void lose();
  // Divides the intervals that have ended since the last call. `intervals` is sorted by thread.
  void divide(std::span<Interval> intervals);

private:
  struct Thread {
    uint64_t read_ns = 0; // at the last call
    int64_t left_ns = 0;  // read, but not divided; below 0 if more was divided than read
    bool is_known = true; // false: what was read so far does not tell of this thread's waits
  };
  void divide_one(std::span<Interval> intervals);

  Read read_;
  std::unordered_map<pid_t, Thread> threads_;
};

} // namespace tally
