// From the kernel's records, oldest first, to a StackProfile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include <tally/sampler.h>
#include <tally/stack_profile.h>

#include "collect/stack_collector.h"
#include "model/call_chain.h"
#include "support/perf_records.h"

namespace tally {

class SampleSink : public StackCollector {
public:
  struct Counters {
    uint64_t samples = 0;
    uint64_t outside = 0; // of the gate
    uint64_t kernel_samples = 0;
    uint64_t lost = 0;
    uint64_t throttled = 0;
    uint64_t cut_stacks = 0;
    uint64_t short_copies = 0; // of these, cut by the copy's size
    uint64_t bad_records = 0;  // of a shape that the kernel does not write
  };

  SampleSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
             const PerfLayout &layout);

  void handle(const PerfRecord &record);
  // True once after an exec was seen: the command line is another.
  bool take_exec() { return std::exchange(exec_seen_, false); }

  void clear();

  const Counters &counters() const { return counters_; }

private:
  void add_sample(const PerfSample &sample);
  void collect_pcs(const PerfSample &sample);
  void unwind(const PerfSample &sample);

  pid_t pid_;
  StackMode stacks_;
  PerfLayout layout_;
  CallChain chain_;
  Counters counters_;
  bool exec_seen_ = false;
};

} // namespace tally
