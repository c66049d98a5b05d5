// Collects the samples of every sampler: stacks of addresses, by thread and part, with mappings
// that change over time. A sampler of one process names it nowhere; one that follows the processes
// which it forks names each by its pid.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "collect/region_filter.h"
#include "collect/sampler.h"
#include "collect/stop_addresses.h"
#include "model/kept_files.h"
#include "model/stack_profile.h"
#include "stacks/address_space.h"
#include "stacks/address_table.h"
#include "stacks/jit_dumps.h"
#include "stacks/packed_stacks.h"
#include "support/hash.h"

namespace tally {

// It has many methods and data members, because it implements what all samplers have in common.
class StackCollector {
public:
  // One of the quantities that the samples count.
  struct Value {
    std::string type, unit;
    int64_t amount = 1; // what each time of a sample stands for; 0 for intervals of any length
  };
  struct Counted {
    uint64_t period_ns = 0; // the duration of a tick; 0 if none is counted
    std::vector<Value> values = {{"ticks", "count"}};
    bool beside = false; // SamplerOptions::beside
  };
  StackCollector(pid_t pid, Counted counted);

  void map(const CodeRange &range) { map(pid_, range); }
  void map(pid_t pid, const CodeRange &range);
  void forget_mappings() { forget_mappings(pid_); } // exec
  void forget_mappings(pid_t pid);
  const AddressSpace &space() const { return main_.space; }

  // Begins a process that has the mappings of `parent`, if that is known. An older process with
  // this pid has ended. Returns null if there are too many processes.
  AddressSpace *begin_process(pid_t pid, pid_t parent);
  AddressSpace *space_of(pid_t pid); // null if the process is unknown
  uint64_t process_count() const { return processes_begun_ + 1; }

  void set_region_filter(std::shared_ptr<RegionFilter> region_filter) {
    region_filter_ = std::move(region_filter);
  }
  // Sets the user's breakpoints that the debugger passes by itself; null if there are none.
  void set_passed_stops(std::shared_ptr<const StopAddresses> stops) { passed_ = std::move(stops); }
  enum class TickOrigin : uint8_t {
    user,    // where the program was
    kernel,  // where the kernel accounts its own work, including that on a debugger's stop
    delayed, // where the program received a signal that a stop may have delayed
  };
  // Returns whether a sample taken at that time counts.
  bool counts(pid_t tid, uint64_t at_ns, TickOrigin origin, uint64_t pc) const;
  RegionFilter *region_filter() const { return region_filter_.get(); } // null if there is none

  void set_command(std::string command);
  void name_thread(pid_t tid, std::string_view name) { name_thread(pid_, tid, name); }
  void name_thread(pid_t pid, pid_t tid, std::string_view name);
  std::string_view thread_name(pid_t tid); // empty if unknown
  bool knows_thread(pid_t tid) const { return threads_.contains(tid); }
  // Notes that the thread exists, if it is not known.
  void begin_thread(pid_t pid, pid_t tid) { thread(pid, tid); }
  // For an exec, after which the process has this thread only. Returns the others that were known.
  std::vector<pid_t> keep_only_thread(pid_t pid, pid_t tid);
  // For a thread that has ended; its samples stay. Returns the pid of a process of which this was
  // the last thread; 0 if there is none.
  pid_t forget_thread(pid_t tid);

  // Adds a stack: the leaf first, then callers as return address - 1, and a truncation_mark() last
  // if outer frames are missing. An empty stack is a sample at an unknown address. `at_ns` is the
  // time of CLOCK_MONOTONIC at which it was counted, or at which the interval ended; 0 if unknown.
  void add(pid_t tid, std::span<const uint64_t> pcs, int64_t count, uint64_t at_ns,
           uint32_t value = 0);

  // These functions implement the functions of Sampler that have the same names.
  void resumed(const Resume &resume) { resumed_ = {resume, UINT64_MAX}; }
  void end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns);
  Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns);
  void clear();

  uint32_t thread_count() const { return builder_.so_far().threads().size(); }
  uint32_t part_count() const { return part_.number + (part_.has_samples ? 1 : 0); }
  size_t memory_bytes() const { return stacks_.memory_bytes() + addresses_.memory_bytes(); }

private:
  struct Process {
    Process() = default;
    explicit Process(const Process &parent) : space(parent.space), name(parent.name) {}
    AddressSpace space;
    JitDumps jit;
    AddressTable::Process addresses{space};
    std::string name; // of its first thread
    uint32_t threads = 0;
  };
  struct ThreadState {
    ThreadId id = none<ThreadId>; // none before the thread's first sample
    pid_t pid = 0;
    std::string name;
    std::vector<int64_t> length_rests_ns{}; // by value, see interval_of()
  };

  void begin_profile();
  bool is_passed_stop(uint64_t pc) const;
  Process *process(pid_t pid);
  void name_jit_code(pid_t pid, Process &of);
  void keep_new_files();
  ThreadState &thread(pid_t pid, pid_t tid);
  ThreadId thread_of(pid_t tid);
  uint32_t time_of(uint64_t at_ns) const;
  StackTime interval_of(pid_t tid, uint64_t end_ns, int64_t length_ns, uint32_t value);
  PartId open_part() const { return static_cast<PartId>(part_.number); }
  void close_open_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns);

  pid_t pid_;
  Counted counted_;
  std::string command_;
  std::shared_ptr<RegionFilter> region_filter_; // if null, every sample counts
  std::shared_ptr<const StopAddresses> passed_;

  StackProfileBuilder builder_; // everything except stacks and samples
  AddressTable addresses_;
  struct {
    std::shared_ptr<KeptFiles> files = std::make_shared<KeptFiles>();
    uint32_t addresses = 0;     // the first of these addresses_ have been looked at
    SeededSet<uint32_t> ranges; // of addresses_, with the files that have been kept
  } kept_;
  PackedStacks stacks_;
  Process main_;                                                 // process pid_
  std::unordered_map<pid_t, std::unique_ptr<Process>> children_; // those that are alive
  uint64_t processes_begun_ = 0;
  SeededMap<pid_t, ThreadState> threads_; // those that are alive
  struct {
    pid_t tid = 0;
    ThreadId thread = none<ThreadId>;
    Process *process = nullptr;
    pid_t pid = 0;
  } last_; // of thread_of()

  struct {
    Resume resume;
    // The running time of the stop since then. The front end may report the next resume late, and
    // samples that come earlier have this time.
    uint64_t most_ns = UINT64_MAX;
  } resumed_;
  struct {
    uint32_t number = 0; // how many parts with samples have ended
    bool has_samples = false;
    bool added = false; // a snapshot has already added it to builder_
  } part_;              // the open one
};

} // namespace tally
