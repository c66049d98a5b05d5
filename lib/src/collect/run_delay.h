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
//
// Nor are the records written at the moments at which the kernel's account changes: it charges the
// work of a switch, with that of sampling it, to the next thread, before the record of the previous
// one. That takes some microseconds, so that the times of a thread that switches 30,000 times a
// second would add up to a fifth more, or less, than its life. The difference between the CPU time
// of the kernel and that of the records is taken from the intervals, or added, from each the same.
class RunDelay {
public:
  struct Account {
    uint64_t queued_ns = 0; // the thread was runnable without a processor, since it exists
    uint64_t cpu_ns = 0;    // it ran, since it exists
    uint64_t at_ns = 0;     // when this was read, by the clock of the records
  };
  // Returns the kernel's account, or nothing if that is not known. Threads that have ended are not
  // known.
  using Read = std::function<std::optional<Account>(pid_t tid)>;
  static Read from_proc(); // of /proc/TID/schedstat

  struct Interval {
    pid_t tid = 0;
    uint64_t ns = 0;        // the result may differ by the work of a switch
    bool is_queued = false; // all of it
    uint64_t queued_ns = 0; // the result: the last part of the interval
    uint64_t ran_ns = 0;    // how long the thread had run before, by the records
    uint64_t end_ns = 0;
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
    Account read{};      // at the last call
    int64_t left_ns = 0; // read, but not divided; below 0 if more was divided than read
    // CPU time that was read, but neither shown by records nor taken from intervals; below 0 if the
    // records show more.
    int64_t cpu_left_ns = 0;
    bool is_known = true; // false: what was read so far does not tell of this thread's waits
  };
  void divide_one(std::span<Interval> intervals);
  static void correct(std::span<Interval> intervals, const Account &now, Thread &thread);

  Read read_;
  std::unordered_map<pid_t, Thread> threads_;
};

} // namespace tally
