// Converts the kernel's records, oldest first, to a StackProfile.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "collect/exit_counts.h"
#include "collect/page_fetch.h"
#include "collect/perf_events.h"
#include "collect/sampler.h"
#include "collect/stack_collector.h"
#include "collect/wait_sink.h"
#include "model/stack_profile.h"
#include "stacks/call_chain.h"
#include "support/perf_records.h"

namespace tally {

class SampleSink {
public:
  struct Counters {
    uint64_t samples = 0;
    uint64_t outside = 0; // excluded by the region filter or at a stop
    uint64_t kernel_samples = 0;
    uint64_t lost = 0;
    uint64_t throttled = 0;
    uint64_t truncated_stacks = 0;
    uint64_t short_dumps = 0;    // stacks that the size of the stack dump truncated
    uint64_t joined_stacks = 0;  // completed by other samples of their threads
    uint64_t bad_records = 0;    // records with a structure that the kernel does not write
    uint64_t processes_left = 0; // that are not followed, because there are too many
  };

  SampleSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
             const PerfLayout &layout);

  // Returns the collector, which counts the samples. The sampler uses it directly for mappings,
  // names, parts and snapshots.
  StackCollector &collector() { return collector_; }
  const StackCollector &collector() const { return collector_; }

  // Sets whether a debugger traces the process. A switch that a stop of the debugger causes is then
  // not the program's own, and is counted as outside.
  void set_traced(bool traced) {
    process_.is_traced = traced;
    if (waits_)
      waits_->set_traced(traced);
  }
  WaitSink *waits() { return waits_ ? &*waits_ : nullptr; } // null unless waits are measured
  // A thread that waits was seen from outside at `at_ns`, with these registers and this stack.
  void seen_waiting(pid_t tid, uint64_t at_ns, const Registers &registers,
                    std::span<const std::byte> stack, size_t stack_asked);

  // `ids` tells the events of the records apart.
  void handle(const PerfRecord &record, const EventIds &ids = {});
  // Counts the switches whose records did not come, and the intervals of threads that do not run
  // at `at_ns`.
  void finish(uint64_t at_ns);
  // Counts the samples that wait for a later one of their threads.
  void give_up_held();
  // Returns true once after an exec record: the command line has changed.
  bool take_exec() { return std::exchange(process_.has_executed, false); }

  // A debugger stops the process. The processes that it has forked run on, but what they do until
  // resumed() does not count.
  void stopped() {
    if (children_)
      children_->stopped = true;
  }
  void resumed(uint64_t at_ns) {
    if (children_) {
      children_->stopped = false;
      children_->resumed_ns = at_ns;
    }
  }

  void clear(uint64_t at_ns); // forgets what was before `at_ns`

  const Counters &counters() const { return counters_; }

private:
  bool is_sampled(pid_t pid) { return pid == pid_ || (children_ && collector_.space_of(pid)); }
  CallChain &chain_of(pid_t pid);
  void forget_chain(pid_t pid);
  void name(const PerfComm &comm, uint64_t at_ns);
  void began(const PerfTask &task);
  void ended(const PerfTask &task);
  void settle(uint64_t at_ns);
  void add_sample(const PerfSample &sample, uint32_t event);
  StackEnd collect_pcs(const PerfSample &sample);
  StackEnd unwind(const PerfSample &sample);
  void hold(const PerfSample &sample, const Registers &registers, StackEnd end, uint32_t event);
  void add_end(StackEnd end);
  void end_switch(pid_t tid, bool preempted);
  void count(pid_t tid, std::span<const uint64_t> pcs, bool in_kernel, uint32_t event,
             uint64_t at_ns);
  void begin_interval(const PerfSample &sample);
  // Returns the value that the samples of an event have.
  uint32_t value_of(uint32_t event) const;

  // A sample of a switch, of which only the switch's own record shows who caused it.
  struct Switch {
    std::vector<uint64_t> pcs;
    bool in_kernel;
    uint32_t event;
    uint64_t at_ns;
  };

  StackCollector collector_;
  pid_t pid_;
  StackMode stacks_;
  std::vector<SampledEvent> events_;
  int64_t tick_; // the weight of a sample of the clock
  PerfLayout layout_;
  Unwinder *unwinder_;
  std::unordered_map<pid_t, CallChain> chains_; // by process
  CallChain *chain_ = nullptr;                  // of the process of the current sample
  Counters counters_;
  PageFetch pages_;
  struct {
    bool has_executed = false; // another program, and take_exec() has not been asked yet
    bool is_traced = false;
  } process_;
  std::optional<WaitSink> waits_;
  std::unordered_map<pid_t, Switch> switches_; // by thread
  // Set if the processes that the process forks are followed.
  struct Children {
    ExitCounts exits;
    bool stopped = false;
    uint64_t resumed_ns = 0;
  };
  std::optional<Children> children_;
};

} // namespace tally
