// Finds when a process that a debugger has stopped lost its last processor.
//
// A debugger reports a stop when it has read the stack, printed the frame and run the user's
// scripts, which takes from milliseconds to minutes. The kernel knows the time: for each thread,
// /proc/PID/task/TID/sched states when the scheduler last accounted for the thread, which is when
// the thread lost its processor, on the clock of that processor. That clock begins at boot and
// leaves out what interrupts took, so each processor's is compared with CLOCK_MONOTONIC when it is
// needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace tally {

// Returns the time of CLOCK_MONOTONIC at which the last thread of the process lost its processor,
// to a 20th of a millisecond. Returns nothing if a thread is not stopped by a debugger, or if the
// kernel does not say it (it is built without CONFIG_SCHED_DEBUG, or a processor is not permitted).
// It needs no rights. A short-lived thread moves to each processor that is asked for.
std::optional<uint64_t> last_run_ns(pid_t pid);

// Returns "se.exec_start" of /proc/PID/task/TID/sched, which the kernel prints in milliseconds with
// six digits, in nanoseconds.
std::optional<uint64_t> parse_exec_start(std::string_view sched);

} // namespace tally
