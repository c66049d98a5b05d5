// Determines which threads of another process have a processor at this moment, and which wait for
// one.
//
// The scheduler takes the processor away at certain addresses more often than at others: where a
// system call reads a CPU clock, a used-up time slice ends at this point. A sample of a thread that
// waits for a processor shows such an address. If the sampling thread itself had to wait, the
// sample shows such an address, too, because the sampling thread gets the processor when another
// thread loses it. Neither of these addresses is random.
//
// A signal does not stop a thread at once, either. The interrupt that makes the thread's processor
// check for signals takes 3 µs and more in a virtual machine, and a thread that makes a system call
// in this time takes the signal at the end of the call. In a program that made a call every 9 µs,
// 38 % of such signals arrived there, although it spent only 1.8 % of its time there. Therefore one
// of our threads sleeps on the processor of each thread that runs. The timer that ends the sleep
// interrupts the thread at a random address, and the thread stays there until the signals have been
// sent. If that fails repeatedly, on a busy machine or because the kernel does not permit the
// processor, signals are sent from any processor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "collect/proc_info.h"
#include "collect/processor_holders.h"

namespace tally {

// Returns whether the thread has a processor. The thread's counts are read one after the other: if
// they change meanwhile, the result is false.
constexpr bool has_processor(const SchedulerCounts &counts, const ProcessStatus &status) {
  return counts.arrivals == status.switches + 1;
}

class ProcessorUse {
public:
  enum class Of : uint8_t {
    thread_that_runs,
    thread_that_ran, // until sleep_briefly() took its processor, or whose use is unknown
    thread_that_waits,
  };

  // Must be called by the thread that uses the object. Requests short time slices for this thread,
  // which stay in force after the object is destroyed.
  ProcessorUse(pid_t pid, ProcessorHolders &holders);
  ProcessorUse(const ProcessorUse &) = delete;
  ProcessorUse &operator=(const ProcessorUse &) = delete;
  ~ProcessorUse(); // releases the processors

  // Sleeps for a moment. If `beside` is true, sleeps on the processors of the threads: the calling
  // thread then occupies one of these processors as long as it does not wait, and the holders
  // occupy the others until the next call. Returns false if a processor was not obtained on time:
  // the threads that run now are then not those that ran when the sleep should have ended, and the
  // caller should try again.
  bool sleep_briefly(std::span<const pid_t> tids, bool beside);
  // Returns false if a thread whose processor was taken may have run since then.
  bool is_undisturbed() const;
  uint64_t taken_ns() const { return taken_ns_; } // the time at which the sleep ended
  // Tells how a runnable thread uses the processors. A thread whose processor is taken may run
  // nevertheless: an idle processor takes over a thread that waits.
  Of use_of(pid_t tid, const ProcessStatus &status) const;

private:
  std::optional<SchedulerCounts> counts_of(pid_t tid) const;
  std::vector<int> processors(std::span<const pid_t> tids) const;

  pid_t pid_;
  ProcessorHolders &holders_;
  uint64_t slept_ns_ = 0;
  uint64_t taken_ns_ = 0;
  bool beside_ = false;
  uint64_t preempted_ = 0;
  std::unordered_map<pid_t, uint64_t> cpu_before_ns_;
};

} // namespace tally
