// Looks whether a debugger holds the processes that run for the user.
//
// A breakpoint whose condition is false, a script that passes a stop, and a library whose symbols
// are read stop the program, though the user sees no stop. No debugger tells for how long, so a
// thread looks every two milliseconds, which costs little as long as one thread runs. If it meets a
// hold, it stays with it until its end: the beginning is the kernel's (last_run.h), the end is
// found by looks whose intervals grow with the hold. A hold that is shorter than the interval is
// met as often as it is a part of the interval, and counts for the whole interval: the sum of such
// holds is estimated.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <sys/types.h>

#include "collect/held_times.h"
#include "collect/reader_thread.h"
#include "support/unique_fd.h"

namespace tally {

class HeldWatch {
public:
  HeldWatch() = default;
  HeldWatch(const HeldWatch &) = delete;
  HeldWatch &operator=(const HeldWatch &) = delete;
  ~HeldWatch() { watch({}); }

  // Looks at these processes from now on. They are held if all their threads are stopped by a
  // debugger. Without a process, the thread ends, and a hold that is open is forgotten.
  void watch(std::vector<pid_t> pids);
  const std::shared_ptr<HeldTimes> &times() const { return times_; }

private:
  void look_until_stopped();
  bool are_held();
  bool look(); // returns whether the processes are held
  void close(uint64_t until_ns, const std::map<pid_t, uint64_t> &active, bool again);
  // Returns for each thread how long it has run, or waited for a processor.
  std::map<pid_t, uint64_t> active_ns() const;

  const std::shared_ptr<HeldTimes> times_ = std::make_shared<HeldTimes>();
  std::vector<pid_t> pids_;                  // while the thread runs, only it uses them
  UniqueFd runs_;                            // the stat file of a thread that was seen running
  uint64_t held_since_ns_ = 0;               // 0 if the processes run
  std::map<pid_t, uint64_t> held_active_ns_; // active_ns() at that time
  uint64_t missed_ns_ = 0;                   // the time before it in which no one looked
  uint64_t last_look_ns_ = 0;
  std::atomic<bool> stopping_ = false;
  ReaderThread thread_;
  ReaderProblem problem_;
};

} // namespace tally
