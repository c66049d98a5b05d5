// A region of the program: between two code locations, or a function from call to return.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "collect/region_filter.h"
#include "model/stack_profile.h"
#include "session/session.h"
#include "session/tracee.h"
#include "support/hash.h"

namespace tally {

// Times in nanoseconds: on the wall's clock, and those of a thread's CPU clock.
struct Spent {
  uint64_t wall_ns = 0, cpu_ns = 0;
};

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
  const std::vector<uint64_t> &kept() const { return kept_; } // each `stride`-th one

private:
  static constexpr size_t most_kept = 65'536;
  std::vector<uint64_t> kept_;
  uint64_t stride_ = 1;
  uint64_t count_ = 0, total_ = 0, least_ = UINT64_MAX, most_ = 0;
};

// Measures the cost of one stop of the debugger. A debugger stops the thread at the breakpoint, and
// again when it has stepped over the instruction there; the cost is that of both.
//
// The kernel's work for a stop counts as the thread's CPU time. It is the CPU time from a hit to
// the next one of a thread that executes two instructions between them. The rest, in which the
// debugger works, is what the thread did not run in a stretch in which it was neither preempted nor
// blocked.
//
// The cost drifts with the load of the machine, therefore the newest measurements count, and their
// median. They are made in groups of consecutive passes, because a stop at a breakpoint that the
// debugger has just set costs a tenth less than one at a breakpoint that stays set.
class StopCost {
public:
  // The running time, and the thread's scheduling statistics, at a hit.
  struct Moment {
    uint64_t running_ns = 0;
    HeldThread::Ran ran = {};
  };
  // A thread begins a pass, or ends one, with this hit.
  void begins(pid_t tid, const Moment &at);
  void ends(pid_t tid, const Moment &at);
  // Returns whether to measure from the last hit on: at the begin of a pass, or at its end if the
  // code at the begin jumps.
  bool measures() const { return tid_ != 0; }
  // A hit of the thread comes that hit() may not learn of.
  void withdraw(pid_t tid) { tid_ = tid_ == tid ? 0 : tid_; }
  // Counts a hit. Returns whether it ends a measurement.
  bool hit(pid_t tid, RegionHit::Kind kind, const Moment &at);
  void measured(const Spent &spent); // with two instructions
  void in_pass(const Spent &spent);  // with a part of a pass, without other reasons to wait
  bool is_known() const { return cpu_.filled != 0; }
  Spent median() const;
  Spent error(uint64_t passes) const;       // of the median of what is left of so many passes
  uint64_t count() const { return count_; } // of all stops
  // Passes that ended before the cost was known, so that their times contain it.
  uint64_t uncorrected() const { return uncorrected_; }

  static constexpr size_t kept = 127; // odd

private:
  static constexpr uint64_t passes_a_group = 1024;
  // At most so many passes of a group ask for a measurement: threads may disturb those of others,
  // and there may be no place for them.
  static constexpr uint64_t most_attempts = 4 * kept;
  struct Newest {
    std::array<uint64_t, kept> values{};
    size_t filled = 0, next = 0;
    uint64_t median = 0;
    void add(uint64_t value);
    uint64_t error_of_median() const;
  };
  Newest cpu_;  // of measurements, and the wall's time of these,
  Newest wall_; // if the debugger's part is not known from passes:
  Newest off_;
  uint64_t passes_ = 0, count_ = 0, uncorrected_ = 0;
  uint64_t measured_ = 0; // in this group
  pid_t tid_ = 0;         // the thread that measures with its next hit, or 0
  Moment from_ = {};      // when it began to
  bool lacks_ = false;    // the measurement that begins() asked for has not come
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
  std::string words() const; // "parse, from each call until it returns"
  std::string name() const;  // "parse", or "a.c:10 to a.c:20"
  const std::shared_ptr<RegionFilter> &region_filter() const { return region_filter_; }

  // A hit comes that is not handled, because the process does not count as running.
  void pass_over_hit(pid_t tid) { stops_.withdraw(tid); }
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

  // The times of the passes, without what the stops in them cost if that is known.
  const PassTimes &passes() const { return passes_; }     // by the wall's clock
  const PassTimes &cpu_of_passes() const { return cpu_; } // of those whose thread's is known
  const StopCost &stops() const { return stops_; }
  // `one` is the error of the times of one pass, `median` that of their median and of their mean,
  // which is exceeded by chance in one case in a thousand.
  struct Errors {
    Spent one, median;
  };
  Errors errors() const;
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
    uint64_t held = 0;          // later stops of other threads that also held this thread
    // Up to that stop: the CPU time, and the wall's time of the stretches in which the thread
    // waited, with the stops in all and in these.
    Spent took = {};
    uint64_t ran_ns = 0; // the CPU time of the other stretches
    uint64_t stops = 0, stops_waited = 0;
    bool is_cpu_known = true; // at all stops
  };
  void count_stop(const RegionHit &hit, const HeldThread::Ran &ran, uint64_t running_ns);
  void begin(pid_t tid, const Pass &pass, uint64_t at_ns);
  void finish(pid_t key, const RegionHit &hit, const HeldThread::Ran &ran, uint64_t at_ns,
              uint64_t running_ns);
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
  SeededSet<uint64_t> return_addresses_; // accepted by is_return_address()
  PassTimes passes_, cpu_;
  PassList made_; // with the newest sampler
  StopCost stops_;
  struct {
    uint64_t all = 0, waited = 0;
  } stops_in_passes_;
  uint64_t unfinished_ = 0;
  uint64_t inlined_ = 0;
  uint64_t unreturning_ = 0;
};

} // namespace tally
