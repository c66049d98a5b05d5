// Looks whether a debugger holds the processes that run for the user.
//
// A breakpoint whose condition is false, a script that passes a stop, and a library whose symbols
// are read stop the program, though the user sees no stop. Nor does a run begin when the user asks
// for it: a debugger first steps over its own breakpoint, and holds the program before and after.
// No debugger tells for how long, so a
// thread looks every two milliseconds, which costs little as long as one thread runs. If it meets a
// hold, it stays with it until its end: the beginning is the kernel's (last_run.h), and so is the
// end of a hold with which a run begins; any other end is found by looks whose intervals grow with
// the hold. A hold that is shorter than the interval is met as often as it is a part of the
// interval, and counts for the whole interval: the sum of such holds is estimated.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <sys/types.h>

#include "collect/held_times.h"
#include "collect/last_run.h"
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
  // debugger. If they are held now, they have been since `since_ns`, the time of the resume.
  // Without a process, the thread ends, and a hold that is open is forgotten.
  void watch(std::vector<pid_t> pids, uint64_t since_ns = 0);
  const std::shared_ptr<HeldTimes> &times() const { return times_; }

private:
  void look_until_stopped();
  bool are_held();
  bool look(); // returns whether the processes are held
  void close(uint64_t until_ns, const AccountedThreads &threads, bool again);
  void open(uint64_t since_ns, AccountedThreads threads, uint64_t missed_ns);
  // Whether the run begins: the debugger may still step over its own breakpoint.
  bool begins() const;
  AccountedThreads accounted() const;                  // of all threads
  bool has_run(const AccountedThreads &threads) const; // whether one has since it was held

  const std::shared_ptr<HeldTimes> times_ = std::make_shared<HeldTimes>();
  std::vector<pid_t> pids_;    // while the thread runs, only it uses them
  UniqueFd runs_;              // the stat file of a thread that was seen running
  uint64_t held_since_ns_ = 0; // 0 if the processes run
  AccountedThreads held_;      // accounted() at that time
  uint64_t missed_ns_ = 0;     // the time before it in which no one looked
  uint64_t last_look_ns_ = 0;
  uint64_t began_ns_ = 0; // when the processes were first seen to run; 0 if they were not
  std::atomic<bool> stopping_ = false;
  ReaderThread thread_;
  ReaderProblem problem_;
};

} // namespace tally
