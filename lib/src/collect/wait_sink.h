// Counts the intervals in which threads do not run, as values of samples.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "collect/creating_calls.h"
#include "collect/run_delay.h"
#include "collect/stack_collector.h"
#include "collect/wait_clock.h"

namespace tally {

class WaitSink {
public:
  // The values of the samples, by their index, and their types.
  enum Value : uint32_t { cpu, wait, queued, waits };
  static std::vector<StackCollector::Value> values(int64_t tick_ns);

  struct Counters {
    uint64_t waits = 0; // that have ended; one that continues another is not counted again
    uint64_t wait_ns = 0, queued_ns = 0;
    uint64_t divided_ns = 0; // the part of queued_ns that RunDelay took from waits
  };

  // `tick_ns` is what a sample of the clock adds to `cpu`. `collector` outlives this object.
  WaitSink(pid_t pid, int64_t tick_ns, StackCollector &collector,
           RunDelay::Read read = RunDelay::from_proc())
      : collector_(collector), tick_ns_(tick_ns), creating_calls_(pid), delay_(std::move(read)) {}

  WaitClock &clock() { return clock_; }
  void set_traced(bool traced) {
    traced_ = traced;
    clock_.set_traced(traced);
  }
  // Call this if the kernel may not be sampled. Then only switches and samples of user code are
  // recorded.
  void set_unsampled() {
    unsampled_ = true;
    clock_.set_unsampled();
  }

  bool is_unsampled() const { return unsampled_; }

  // The thread exists when sampling begins.
  void exists(pid_t tid) { delay_.begin(tid); }

  // A thread is about to give up its processor at `pc`, with this stack.
  void leaves(pid_t tid, uint64_t pc, std::span<const uint64_t> stack, WaitClock::Call call);
  void leaves_uncounted(pid_t tid) { clock_.sampled(tid, {}, WaitClock::Call::none, false); }
  void switched(pid_t tid, uint64_t at_ns, uint16_t misc); // of PERF_RECORD_SWITCH
  void ticked(pid_t tid);                                  // a sample of the clock was counted
  void began(pid_t tid, uint64_t at_ns);                   // another thread created it
  void ended(pid_t tid, uint64_t at_ns);
  // The thread goes on as the only one, with another program. Call settle() before.
  void exec(pid_t tid, uint64_t at_ns);
  void lost() { delay_.lose(); } // records
  // Counts the intervals that have ended. Call this after the records that have come.
  void settle();
  // Counts the intervals of threads that do not run at `at_ns`.
  void finish(uint64_t at_ns);
  // Counts the CPU time that the records of switches show and the samples do not.
  void count_unsampled();
  void clear(uint64_t at_ns); // forgets what was before `at_ns`

  const Counters &counters() const { return counters_; }

private:
  // An interval that has ended and is not counted yet.
  struct Ended {
    RunDelay::Interval interval;
    WaitClock::Why why = WaitClock::Why::unknown;
    bool counts = false, continues = false;
    size_t stack_begin = 0, stack_size = 0; // in stacks_
  };
  void settle(std::span<Ended> ended);
  void add(pid_t tid, const WaitClock::Interval &interval, uint64_t end_ns, uint64_t queued_ns);
  void count_unsampled(pid_t tid);

  StackCollector &collector_;
  int64_t tick_ns_;
  WaitClock clock_;
  CreatingCalls creating_calls_;
  RunDelay delay_;
  std::vector<Ended> ended_;
  std::vector<uint64_t> stacks_; // of ended_, one behind the other
  Counters counters_;
  bool traced_ = false;
  pid_t executed_ = 0; // the thread that is about to begin another program
  bool unsampled_ = false;
  std::unordered_map<pid_t, int64_t> unsampled_ns_; // by thread; below 0 if the samples are ahead
};

} // namespace tally
