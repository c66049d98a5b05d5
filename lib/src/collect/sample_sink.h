// Converts the kernel's records, oldest first, to a StackProfile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include <tally/sampler.h>
#include <tally/stack_profile.h>

#include "collect/stack_collector.h"
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
    uint64_t short_dumps = 0; // stacks that the size of the stack dump truncated
    uint64_t bad_records = 0; // records with a structure that the kernel does not write
  };

  SampleSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
             const PerfLayout &layout);

  // Returns the collector, which counts the samples. The sampler uses it directly for mappings,
  // names, parts and snapshots.
  StackCollector &collector() { return collector_; }
  const StackCollector &collector() const { return collector_; }

  void handle(const PerfRecord &record);
  // Returns true once after an exec record: the command line has changed.
  bool take_exec() { return std::exchange(exec_seen_, false); }

  void clear();

  const Counters &counters() const { return counters_; }

private:
  void add_sample(const PerfSample &sample);
  void collect_pcs(const PerfSample &sample);
  void unwind(const PerfSample &sample);

  StackCollector collector_;
  pid_t pid_;
  StackMode stacks_;
  PerfLayout layout_;
  CallChain chain_;
  Counters counters_;
  bool exec_seen_ = false;
};

} // namespace tally
