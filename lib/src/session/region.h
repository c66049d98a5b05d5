// A region of the program: between two code locations, or a function from call to return.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sys/types.h>

#include <tally/stack_profile.h>

#include "collect/region_filter.h"
#include "session/session.h"
#include "session/tracee.h"

namespace tally {

// Statistics of the durations of passes. Memory is bounded, whatever the number of passes.
class PassTimes {
public:
  void add(uint64_t ns);
  uint64_t count() const { return count_; }
  uint64_t total_ns() const { return total_; } // saturates
  uint64_t least_ns() const { return count_ == 0 ? 0 : least_; }
  uint64_t most_ns() const { return most_; }
  // Returns the median over every `stride`-th pass; of two middle values, the lower one.
  uint64_t median_ns() const;
  uint64_t stride() const { return stride_; }

private:
  static constexpr size_t most_kept = 65'536;
  std::vector<uint64_t> kept_;
  uint64_t stride_ = 1;
  uint64_t count_ = 0, total_ = 0, least_ = UINT64_MAX, most_ = 0;
};

// Measures the duration of the debugger's stops. In an interval in which the thread was neither
// preempted nor blocked, the time in which the thread did not run is that of the stops.
class StopTimes {
public:
  // Adds an interval of `wall_ns` with `stops` stops, in which the thread ran for `cpu_ns` and was
  // scheduled `turns` times (0 if unknown). Returns the interval's time without the stops: cpu_ns
  // if the interval could be measured, otherwise an estimate by the mean duration of a stop.
  uint64_t add(uint64_t wall_ns, uint64_t cpu_ns, uint64_t turns, uint64_t stops);
  void count() { ++count_; }
  uint64_t count() const { return count_; }
  // Returns the mean duration of a stop; 0 if none was measured.
  uint64_t mean_ns() const { return measured_ == 0 ? 0 : measured_ns_ / measured_; }

private:
  uint64_t count_ = 0;
  uint64_t measured_ = 0, measured_ns_ = 0;
};

// The stretches of a region's passes. Memory is bounded: the oldest are dropped.
class PassList {
public:
  struct Stretch {
    pid_t tid = 0;                     // RegionFilter::all_threads for a pass of the whole process
    uint64_t begin_ns = 0, end_ns = 0; // of running time
  };
  void add(const Stretch &stretch);
  const std::deque<Stretch> &stretches() const { return stretches_; }
  void clear() { stretches_.clear(); }

private:
  static constexpr size_t most_kept = 65'536;
  std::deque<Stretch> stretches_;
};

class Region {
public:
  // `locations` are two code locations, or one function, as the user typed them.
  explicit Region(std::vector<std::string> locations)
      : locations_(std::move(locations)), region_filter_(std::make_shared<RegionFilter>()) {}

  bool is_function() const { return locations_.size() == 1; }
  const std::vector<std::string> &locations() const { return locations_; }
  std::string words() const; // "parse, from each call until it returns"
  std::string name() const;  // "parse", or "a.c:10 to a.c:20"
  const std::shared_ptr<RegionFilter> &region_filter() const { return region_filter_; }

  // Handles a hit; see Session::region_hit(). `pid` is 0 for a remote process. `at_ns` is the time
  // by CLOCK_MONOTONIC; `running_ns` is how long the program had run until then.
  uint64_t hit(RegionHit hit, pid_t pid, uint64_t at_ns, uint64_t running_ns);
  // Ends all open passes as unfinished, because the process or its program is gone.
  void end_open(uint64_t at_ns, uint64_t running_ns);
  void close(); // closes the files of threads in /proc
  // Resets the statistics. Threads stay inside the region; their passes restart at zero.
  void clear();
  // Counts as unfinished the passes whose thread or program has ended, as the sampler reports.
  void give_up_closed();

  const PassTimes &passes() const { return passes_; } // without the time of the stops in them
  const StopTimes &stops() const { return stops_; }
  // Adds the passes of a sampler's profile. Those that go on end at `running_ns`.
  void add_passes(StackProfile &profile, uint64_t running_ns) const;
  void forget_passes() { made_.clear(); }             // but not their statistics
  size_t inside() const { return open_.size(); }      // threads inside; 1 for a pass of all
  uint64_t unfinished() const { return unfinished_; } // passes whose end was not observed
  uint64_t inlined() const { return inlined_; } // entries to inlined copies, which do not return
  uint64_t unreturning() const { return unreturning_; } // entries without a return address

private:
  struct Pass {
    uint64_t caller_sp = 0; // the caller's stack pointer, the same before the call and after it
    uint64_t return_address = 0;
    pid_t tid = 0;              // the thread that began the pass
    uint64_t began_ns = 0;      // the running time when it began
    uint64_t at_running_ns = 0; // the running time at the thread's last stop
    HeldThread::Ran ran = {};   // the thread's scheduling statistics at that stop
    uint64_t took_ns = 0;       // the duration up to that stop
    uint64_t held = 0;          // later stops of other threads that also held this thread
  };
  void count_stop(const RegionHit &hit, const HeldThread::Ran &ran, uint64_t running_ns);
  void begin(pid_t tid, const Pass &pass, uint64_t at_ns);
  void finish(pid_t key, const RegionHit &hit, uint64_t at_ns, uint64_t running_ns);
  void give_up(pid_t tid, uint64_t at_ns, uint64_t running_ns);
  bool returns_to(uint64_t address, pid_t pid);
  bool complete(RegionHit &hit, HeldThread *thread, pid_t pid);
  HeldThread *thread_of(pid_t pid, pid_t tid);    // null for a remote process
  bool is_awaited(uint64_t return_address) const; // whether an open pass returns to this address
  bool has_left(const Pass &pass, uint64_t sp, pid_t pid) const;

  std::vector<std::string> locations_;
  std::shared_ptr<RegionFilter> region_filter_;
  std::unordered_map<pid_t, Pass> open_; // by thread, or RegionFilter::all_threads for all
  pid_t known_pid_ = 0;                  // the process whose step area the region filter knows
  std::unordered_map<pid_t, HeldThread> threads_;
  std::unordered_set<uint64_t> return_addresses_; // accepted by is_return_address()
  PassTimes passes_;
  PassList made_; // with the newest sampler
  StopTimes stops_;
  uint64_t unfinished_ = 0;
  uint64_t inlined_ = 0;
  uint64_t unreturning_ = 0;
};

} // namespace tally
