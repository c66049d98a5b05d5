// Converts perf's records, in the order of their times, to a StackProfile.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/event_values.h"
#include "formats/perf_data/events.h"
#include "model/stack_profile.h"
#include "model/unwinder.h"
#include "stacks/call_chain.h"
#include "stacks/jit_dumps.h"
#include "stacks/mapped_stacks.h"
#include "support/diagnostics.h"
#include "support/hash.h"

namespace tally::perf_data {

class Recording {
public:
  // All referenced objects must outlive this one. `unwinder` may be null.
  Recording(const Events &events, const Features &features, Unwinder *unwinder,
            Diagnostics &diagnostics, std::string source)
      : events_(events), features_(features), unwinder_(unwinder), diagnostics_(diagnostics),
        source_(std::move(source)) {}

  void handle(const PerfRecord &record, uint64_t offset);

  size_t sample_count() const { return rows_.size(); }
  // Returns the profile, and adds the diagnostics that concern the whole recording.
  Result<StackProfile> finish();

private:
  struct Process {
    explicit Process(Recording &recording)
        : number(recording.process_count_++), space(recording.shared_.ranges),
          stacks(space, recording.shared_.locations), chain(0, recording.unwinder_, space) {}
    uint64_t number; // unique, because pids are reused
    AddressSpace space;
    JitDumps jit;
    MappedStacks stacks;
    CallChain chain;
  };
  struct ThreadState {
    ThreadId id = none<ThreadId>; // none until its first sample
    std::string name;
  };

  struct Losses {
    uint64_t lost = 0, throttled = 0;                    // records
    uint64_t truncated = 0, joined = 0, not_unwound = 0; // stacks
  };

  bool handle_sample(const PerfRecord &record);
  bool handle_mmap(const PerfLayout &layout, const PerfRecord &record);
  bool handle_comm(const PerfLayout &layout, const PerfRecord &record);
  bool handle_fork(const PerfLayout &layout, const PerfRecord &record);
  bool handle_exit(const PerfLayout &layout, const PerfRecord &record);

  Process &process(int32_t pid);
  // Returns the perf map of a process, if there is one on this machine; otherwise empty.
  std::string perf_map_of(int32_t pid);
  ThreadState &thread(int32_t pid, int32_t tid);
  void set_name(int32_t pid, int32_t tid, std::string_view name);

  void find_chain(Process &of, const PerfLayout &layout, const PerfSample &sample);
  void unwind(Process &of, const PerfLayout &layout, const PerfSample &sample);
  void hold(Process &of, const Registers &registers, const PerfSample &sample, StackEnd end);
  void add_end(StackEnd end);
  LocationId named_location(std::string_view name, uint64_t address);

  void add_build_ids();
  void name_processes();
  void report_losses();

  const Events &events_;
  const Features &features_;
  Unwinder *unwinder_;
  Diagnostics &diagnostics_;
  std::string source_;

  StackProfileBuilder builder_;
  struct {
    std::shared_ptr<CodeRanges> ranges = std::make_shared<CodeRanges>();
    MappedLocations locations{ranges->all()};
  } shared_; // by all processes
  SeededMap<int32_t, std::unique_ptr<Process>> processes_;
  SeededMap<int32_t, std::string> perf_maps_;      // by pid
  std::deque<std::pair<int32_t, uint64_t>> ended_; // pid and number, oldest first
  uint64_t process_count_ = 0;
  SeededMap<uint64_t, ThreadState> threads_;
  // A row for each sample. The rows are added to the profile at the end, when all values are known.
  std::vector<EventRow> rows_;
  uint64_t kernel_text_ = 0; // address of the kernel's _text; 0 if unknown
  Losses losses_;
};

} // namespace tally::perf_data
