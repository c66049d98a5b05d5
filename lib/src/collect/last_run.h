// Finds when the last run of a process began, and when the debugger that stopped it ended it.
//
// A debugger reports a stop when it has read the stack, printed the frame and run the user's
// scripts, which takes from milliseconds to minutes. The kernel knows the time: for each thread,
// /proc/PID/task/TID/sched states when the scheduler last accounted for the thread, which is when
// the thread lost its processor, on the clock of that processor. That clock begins at boot and
// leaves out what interrupts took, so each processor's is compared with CLOCK_MONOTONIC when it is
// needed. A resume is noticed late, too: it came before all that a thread has run since the stop.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace tally {

// Returns the time of CLOCK_MONOTONIC at which the last thread of the process lost its processor,
// to a 20th of a millisecond. Returns nothing if a thread is not stopped by a debugger, or if the
// kernel does not say it (it is built without CONFIG_SCHED_DEBUG, or a processor is not permitted).
// It needs no rights. A short-lived thread moves to each processor that is asked for.
std::optional<uint64_t> last_run_ns(pid_t pid);

// The scheduler's account of a thread. The scheduler updates it when the thread loses its
// processor, and at each tick. It stays the same while a debugger holds the thread.
struct Accounted {
  uint64_t until_ns = 0;  // on the clock of the thread's processor; 0 if it is not known
  uint64_t cpu_ns = 0;    // its CPU time until then
  uint64_t waited_ns = 0; // the time in which it could run, but had no processor
  friend bool operator==(const Accounted &, const Accounted &) = default;
};
using AccountedThreads = std::map<pid_t, Accounted>;
// Returns this for each thread of the process. It leaves out what the kernel does not say.
AccountedThreads accounted_threads(pid_t pid);

// Returns when the thread began to run, on the clock of its processor, if it has had a processor
// since. Returns nothing if it has not run since `held`, a time at which a debugger held it.
std::optional<uint64_t> begin_of(const Accounted &now, const Accounted &held);

// Returns the time of CLOCK_MONOTONIC at which the process went on after it was held: that of the
// first of begin_of(). The time is exact if this thread has not lost its processor since, or has
// lost it for the first time now; otherwise it is too late by the times without a processor. It
// leaves out steps over breakpoints. Returns nothing if no thread has run, or if the kernel does
// not say it.
std::optional<uint64_t> run_begin_ns(pid_t pid, const AccountedThreads &held);

// Returns "se.exec_start" of /proc/PID/task/TID/sched, which the kernel prints in milliseconds with
// six digits, in nanoseconds.
std::optional<uint64_t> parse_exec_start(std::string_view sched);
// Returns "se.sum_exec_runtime", which is the thread's CPU time until then, in the same way.
std::optional<uint64_t> parse_sum_exec(std::string_view sched);

} // namespace tally
