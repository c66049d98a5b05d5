// From the kernel's records, oldest first, to a StackProfile.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <tally/sampler.h>
#include <tally/stack_profile.h>
#include <tally/unwinder.h>

#include "collect/address_space.h"
#include "support/perf_records.h"

namespace tally {

class SampleSink {
public:
  struct Counters {
    uint64_t samples = 0;
    uint64_t kernel_samples = 0;
    uint64_t lost = 0;
    uint64_t throttled = 0;
    uint64_t cut_stacks = 0;
    uint64_t bad_records = 0; // of a shape that the kernel does not write
  };

  SampleSink(pid_t pid, uint64_t period_ns, const SamplerOptions &options,
             const PerfLayout &layout);
  SampleSink(const SampleSink &) = delete; // the unwinder's call-back holds its address
  SampleSink &operator=(const SampleSink &) = delete;

  void map(const CodeRange &range) { space_.map(range); }
  void set_command(std::string command);
  void name_thread(pid_t tid, std::string_view name);
  bool knows_thread(pid_t tid) const { return threads_.contains(tid); }

  void handle(const PerfRecord &record);
  // True once after an exec was seen: the command line is another.
  bool take_exec() { return std::exchange(exec_seen_, false); }

  void end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns);
  Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns);
  void clear();

  const Counters &counters() const { return counters_; }
  uint32_t thread_count() const { return builder_.so_far().threads().size(); }
  uint32_t part_count() const { return parts_kept_ + (part_has_samples_ ? 1 : 0); }
  size_t memory_bytes() const { return builder_.memory_bytes(); }

private:
  struct ThreadState {
    ThreadId id = none<ThreadId>; // until its first sample
    std::string name;
  };

  void begin_profile();
  void add_sample(const PerfSample &sample);
  void collect_pcs(const PerfSample &sample);
  void unwind(const PerfSample &sample);
  CodeMapping code_mapping(uint32_t range);
  StackId stack_of_pcs();
  LocationId location_of(uint64_t pc);
  MappingId mapping_of(uint32_t range);
  ThreadId thread_of(pid_t tid);
  PartId open_part() const;
  void close_open_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns);

  pid_t pid_;
  StackMode stacks_;
  uint64_t period_ns_;
  PerfLayout layout_;
  Unwinder *unwinder_;
  std::function<ModuleId(const ModuleKey &)> module_of_;
  std::string command_;

  StackProfileBuilder builder_;
  AddressSpace space_;
  std::vector<MappingId> mappings_; // of space_'s ranges, in this profile; none: not met yet
  std::unordered_map<pid_t, ThreadState> threads_; // that live
  pid_t last_tid_ = 0;
  ThreadId last_thread_ = none<ThreadId>;

  uint32_t parts_kept_ = 0;
  bool part_has_samples_ = false;
  bool part_added_ = false; // by a snapshot

  std::vector<uint64_t> pcs_; // of one sample, leaf first; callers as return address - 1
  // The stack before, outermost first: the next one mostly begins alike.
  std::vector<uint64_t> previous_pcs_;
  std::vector<StackId> previous_stacks_;
  uint64_t previous_generation_ = 0;

  UnwindInput unwind_input_;
  std::vector<ModuleId> modules_; // of space_'s ranges
  Counters counters_;
  bool exec_seen_ = false;
};

} // namespace tally
