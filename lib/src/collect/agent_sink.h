// Converts the agent's records to a StackProfile, and reads the program's mappings when a record
// needs them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <sys/types.h>

#include "collect/agent_memory.h"
#include "collect/sampler.h"
#include "collect/stack_collector.h"
#include "collect/wait_polls.h"
#include "stacks/call_chain.h"

namespace tally {

class AgentSink {
public:
  // `may_look` returns whether /proc/PID still describes the program that the samples come from.
  AgentSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
            std::function<bool()> may_look);

  // Returns the collector, which counts the samples. The sampler uses it directly for mappings,
  // names, parts and snapshots.
  StackCollector &collector() { return collector_; }
  const StackCollector &collector() const { return collector_; }

  // Reads the process's mappings, if they have changed, and the names of its threads.
  void look();
  // Begins a round of records. Code may have been mapped since the last look(), so handle() may
  // read the mappings once in each round.
  void begin_round() { looked_in_round_ = false; }
  // Returns false, and counts nothing, if no agent writes such a record.
  bool handle(const AgentRecord &record);
  // With SamplerOptions::waits: counts how long the threads waited since the last call. `held`: a
  // debugger has stopped the process.
  void count_waits(bool held);
  void forget_time() { // that has passed since count_waits()
    if (waits_)
      waits_->polls.restart();
  }
  void set_held(const std::shared_ptr<const HeldTimes> &held) {
    if (waits_)
      waits_->held = held;
  }
  void clear();

  uint64_t ticks() const { return ticks_; }
  uint64_t outside() const { return outside_; } // ticks that the region filter or a stop excludes
  uint64_t lost() const { return lost_; }       // ticks of threads beyond those that are kept
  uint64_t truncated_stacks() const { return truncated_stacks_; }
  uint64_t joined_stacks() const { return joined_stacks_; }
  uint64_t wait_ns() const { return waits_ ? waits_->wait_ns : 0; }
  uint64_t queued_ns() const { return waits_ ? waits_->queued_ns : 0; }

private:
  bool chain_of(const AgentRecord &record);
  bool is_code(uint64_t pc);
  bool is_agents(uint64_t pc);
  std::span<const uint64_t> programs_own(std::span<const uint64_t> pcs);

  StackCollector collector_;
  pid_t pid_;
  std::function<bool()> may_look_;
  CallChain chain_;
  std::vector<uint64_t> programs_; // scratch
  std::string maps_;               // the text of the last read
  bool looked_in_round_ = false;
  bool unwinds_;
  uint64_t ticks_ = 0;
  uint64_t outside_ = 0;
  uint64_t lost_ = 0;
  uint64_t truncated_stacks_ = 0;
  uint64_t joined_stacks_ = 0;
  int64_t tick_ = 1; // the weight of a tick
  struct Waits {
    std::shared_ptr<const HeldTimes> held; // null without a debugger
    WaitPolls polls;
    pid_t ticker = 0; // the agent's own thread
    uint64_t wait_ns = 0, queued_ns = 0;
  };
  std::optional<Waits> waits_; // with SamplerOptions::waits
};

} // namespace tally
