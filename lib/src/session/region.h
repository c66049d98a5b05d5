// A region of the program: between two places, or a function from each call until it returns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sys/types.h>

#include <tally/sample_gate.h>
#include <tally/session.h>

#include "session/tracee.h"

namespace tally {

// How long passes took; what any number of them needs is bounded.
class PassTimes {
public:
  void add(uint64_t ns);
  uint64_t count() const { return count_; }
  uint64_t total_ns() const { return total_; } // saturates
  uint64_t least_ns() const { return count_ == 0 ? 0 : least_; }
  uint64_t most_ns() const { return most_; }
  // Of every `stride`-th pass; the lower one of two in the middle.
  uint64_t median_ns() const;
  uint64_t stride() const { return stride_; }

private:
  static constexpr size_t most_kept = 65'536;
  std::vector<uint64_t> kept_;
  uint64_t stride_ = 1;
  uint64_t count_ = 0, total_ = 0, least_ = UINT64_MAX, most_ = 0;
};

// What stops of a debugger take, from the intervals between two of them in which the thread did
// nothing but run: what is left of the time is a stop's.
class StopTimes {
public:
  // The thread was stopped `stops` times and ran `cpu_ns` of `wall_ns`, in `turns` on a processor.
  // Returns how much of wall_ns the stops did not take.
  uint64_t add(uint64_t wall_ns, uint64_t cpu_ns, uint64_t turns, uint64_t stops);
  void count() { ++count_; }
  uint64_t count() const { return count_; }
  uint64_t mean_ns() const { return measured_ == 0 ? 0 : measured_ns_ / measured_; } // 0: not known

private:
  uint64_t count_ = 0;
  uint64_t measured_ = 0, measured_ns_ = 0;
};

class Region {
public:
  // Two places, or a function. As the user has typed them.
  explicit Region(std::vector<std::string> places)
      : places_(std::move(places)), gate_(std::make_shared<SampleGate>()) {}

  bool is_function() const { return places_.size() == 1; }
  const std::vector<std::string> &places() const { return places_; }
  std::string words() const; // "parse, from each call until it returns"
  const std::shared_ptr<SampleGate> &gate() const { return gate_; }

  // See Session::region_hit(). `pid`: of this machine; 0: remote. `at_ns` by CLOCK_MONOTONIC;
  // `running_ns`: for how long the program had run until then.
  uint64_t hit(RegionHit hit, pid_t pid, uint64_t at_ns, uint64_t running_ns);
  // The process, or what it ran, is gone.
  void end_open(uint64_t at_ns);
  void close(); // its descriptors; hits are told by the front alone from now on
  // What was counted; who is inside stays there, and has been for no time yet.
  void clear();
  // Who has left with its thread or its program, which the sampler has heard of.
  void give_up_closed();

  const PassTimes &passes() const { return passes_; } // without what the stops in them took
  const StopTimes &stops() const { return stops_; }
  size_t inside() const { return open_.size(); }      // now; threads, or 1 for the process
  uint64_t unfinished() const { return unfinished_; } // passes whose end was not seen
  uint64_t inlined() const { return inlined_; }       // entries to copies that nothing returns from
  uint64_t unreturning() const { return unreturning_; } // entries without a return address

private:
  struct Pass {
    uint64_t caller_sp = 0; // the caller's stack pointer, before the call and again after it
    uint64_t return_address = 0;
    // The thread that began it; when it last stopped, and what of the pass was counted then.
    pid_t tid = 0;
    uint64_t at_running_ns = 0;
    HeldThread::Ran ran = {};
    uint64_t took_ns = 0;
    uint64_t held = 0; // since then, by stops of other threads
  };
  void count_stop(const RegionHit &hit, const HeldThread::Ran &ran, uint64_t running_ns);
  void begin(pid_t tid, const Pass &pass, uint64_t at_ns);
  void finish(pid_t key, const RegionHit &hit, uint64_t at_ns, uint64_t running_ns);
  void give_up(pid_t tid, uint64_t at_ns);
  bool returns_to(uint64_t address, pid_t pid);
  bool complete(RegionHit &hit, HeldThread *thread, pid_t pid);
  HeldThread *thread_of(pid_t pid, pid_t tid);    // null: of a remote process
  bool is_awaited(uint64_t return_address) const; // an open pass ends there
  bool has_left(const Pass &pass, uint64_t sp, pid_t pid) const;

  std::vector<std::string> places_;
  std::shared_ptr<SampleGate> gate_;
  std::unordered_map<pid_t, Pass> open_; // by thread; the process's under SampleGate::all_threads
  pid_t known_pid_ = 0;                  // whose step area the gate knows
  std::unordered_map<pid_t, HeldThread> threads_;
  std::unordered_set<uint64_t> return_addresses_; // that is_return_address() has accepted
  PassTimes passes_;
  StopTimes stops_;
  uint64_t unfinished_ = 0;
  uint64_t inlined_ = 0;
  uint64_t unreturning_ = 0;
};

} // namespace tally
