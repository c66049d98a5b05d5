// Which threads of another process have a processor at this moment, and which wait for one.
//
// The scheduler takes the processor away at certain places more often than at others: where a
// system call reads a CPU clock, a time slice that is used up ends then and there. A look at a
// thread that waits for a processor shows such a place, and so does a look by a thread that had to
// wait itself: it gets the processor when another one loses it. Neither is a place taken by chance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include <sys/types.h>

#include "collect/proc_info.h"

namespace tally {

// /proc/PID/task/TID/schedstat; needs CONFIG_SCHED_INFO, which most kernels have.
struct SchedulerCounts {
  uint64_t cpu_ns = 0;   // exact while the thread has no processor, else of the last tick
  uint64_t arrivals = 0; // times that it was given a processor
};
std::optional<SchedulerCounts> parse_schedstat(std::string_view text);

// The counts of a thread are read one after the other: what changes meanwhile reads as "waits".
constexpr bool has_processor(const SchedulerCounts &counts, const ProcessStatus &status) {
  return counts.arrivals == status.switches + 1;
}

class ProcessorUse {
public:
  explicit ProcessorUse(pid_t pid); // by the thread that uses it, which keeps its short time slices

  // Sleeps for a moment. False: the caller got its processor back late, and what runs now is not
  // what ran when it should have; try again.
  bool sleep_briefly(std::span<const pid_t> tids);
  // Of a thread that is runnable: whether it runs, or did until sleep_briefly() took its processor.
  // True where the kernel does not tell.
  bool runs(pid_t tid, const ProcessStatus &status) const;

private:
  std::optional<SchedulerCounts> counts_of(pid_t tid) const;

  pid_t pid_;
  uint64_t slept_ns_ = 0;
  std::unordered_map<pid_t, uint64_t> cpu_before_ns_;
};

} // namespace tally
