// Which threads of another process have a processor at this moment, and which wait for one.
//
// The scheduler takes the processor away at certain places more often than at others: where a
// system call reads a CPU clock, a time slice that is used up ends then and there. A look at a
// thread that waits for a processor shows such a place, and so does a look by a thread that had to
// wait itself: it gets the processor when another one loses it. Neither is a place taken by chance.
//
// A signal does not stop a thread at once, either: the interrupt that makes the thread's processor
// look takes 3 µs and more in a virtual machine, and a thread that makes a system call in this time
// takes the signal at the end of the call. Of a program that made a call every 9 µs, 38 % of such
// signals stood there, where it spent 1.8 % of its time. Therefore a thread of ours sleeps on the
// processor of each thread that runs: the timer that ends the sleep interrupts the thread at a
// place taken by chance, and there it stands until the signals have been sent. Where that fails
// again and again, on a busy machine or where the kernel forbids the processor, signals are sent
// from anywhere.
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

// The counts of a thread are read one after the other: what changes meanwhile reads as "waits".
constexpr bool has_processor(const SchedulerCounts &counts, const ProcessStatus &status) {
  return counts.arrivals == status.switches + 1;
}

class ProcessorUse {
public:
  // By the thread that uses it, which keeps its short time slices.
  ProcessorUse(pid_t pid, ProcessorHolders &holders);
  ProcessorUse(const ProcessorUse &) = delete;
  ProcessorUse &operator=(const ProcessorUse &) = delete;
  ~ProcessorUse(); // the processors are released

  // Sleeps for a moment; `beside` the threads, on their processors. The calling thread keeps that
  // of one of them as long as it does not wait, and the holders those of the others until the next
  // call. False: a processor was not got back at once, and what runs now is not what ran when it
  // should have; try again.
  bool sleep_briefly(std::span<const pid_t> tids, bool beside);
  // False: since then a thread may have run on whose processor was taken.
  bool is_undisturbed() const;
  uint64_t taken_ns() const { return taken_ns_; } // when the sleep ended
  // Of a thread that is runnable: whether it runs, or did until sleep_briefly() took its processor.
  // True where the kernel does not tell.
  bool runs(pid_t tid, const ProcessStatus &status) const;

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
