// Owns the samplers of the current processes, and stores their profile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/agent.h"
#include "collect/interrupt.h"
#include "collect/sampler.h"
#include "session/name_lookup.h"
#include "session/profile_store.h"
#include "session/run_clock.h"
#include "session/session.h"
#include "session/start_options.h"

namespace tally {

// A process that is sampled.
struct SampledProcess {
  int32_t pid = 0;
  std::string command;
  std::unique_ptr<Sampler> sampler; // null once sampling has ended
  bool is_running = false;
  bool is_gone = false;
  uint64_t began_ns = 0; // the running time of all processes at its last resume
};

// Samples the *first* process with any backend and, beside it, the other processes that the
// debugger debugs, with perf. All have one time axis, which advances while one of them runs. When
// the first ends, another becomes the first. It has many methods, because what a command shows
// (counts, names, times) is that of all samplers.
class Sampling {
public:
  // `target` is the front's newest event. All arguments outlive this object.
  Sampling(const DebugEvent &target, ProfileStore &profiles, NameLookup &names,
           std::shared_ptr<const HeldTimes> held)
      : target_(target), profiles_(profiles), names_(names), time_(std::move(held)) {}

  // --- the process
  bool is_active() const { return first_.sampler != nullptr; }
  bool is_running() const { return first_.is_running; }
  // Begins a profile, or continues the kept profile if process and options are the same.
  // `missed_ns` is for SamplerStatus.
  void adopt(std::unique_ptr<Sampler> started, const StartOptions &options, uint64_t missed_ns);
  void note_resume() { resume(first_); }
  void end_part(std::string_view trigger) { end_part(first_, trigger); }
  // Ends sampling of the first process, and looks up the names while the files are still those that
  // ran. With `announce`, the text reports the end, which the user does not see otherwise.
  Result<std::string> end(std::string_view trigger, bool announce = false);
  Result<std::string> end_all(std::string_view trigger); // does the same for all processes
  Result<void> finish_first(std::string_view trigger);   // like end(), but looks up no names
  Result<void> finish_all(std::string_view trigger);     // like end_all(), but looks up no names
  void abandon();                                        // the sampler never worked
  // Reports, before end(), that the first process no longer exists. A later process with the same
  // id is another one: remote targets often have the same id for every process.
  void note_gone() { first_.is_gone = true; }
  // Counts only inside of `region` from now on, and forgets what was collected.
  void set_region(std::shared_ptr<Region> region);
  void forget(); // discards the samples; sampling continues

  // --- the limit of the running time, StartOptions::limit_ns
  static constexpr uint64_t no_limit = UINT64_MAX;
  // Returns how long the process may still run. Returns no_limit if it may run for ever, if it does
  // not run, or after expect_last_stop().
  uint64_t limit_left_ns() const;
  void expect_last_stop() { limit_at_ns_ = 0; } // the next stop is past the limit
  bool is_past_limit() const { return is_active() && time_.ran_ns() >= limit_at_ns_; } // at a stop

  // --- the other processes
  void add_other(SampledProcess process) { others_.push_back(std::move(process)); }
  bool samples_other(int32_t pid) const { return other(pid) != others_.end(); }
  const std::vector<SampledProcess> &others() const { return others_; }
  std::vector<pid_t> running_pids() const;
  void note_resume_of(int32_t pid);
  void end_part_of(int32_t pid, std::string_view trigger);
  Result<std::string> end_other(int32_t pid, std::string_view trigger, bool announce);

  // Return the first process and the options of its sampler, even after it has ended.
  int32_t pid() const { return first_.pid; }
  const StartOptions &options() const { return options_; }
  // Whether the stacks of an earlier run were deeper than the dumps.
  bool needs_deep_dumps() const { return needs_deep_dumps_; }
  Region *region() const { return options_.region.get(); }

  // --- counters, over all samplers of this profile
  SamplerStatus sums();
  AgentFacts agent_facts() const; // of the newest agent
  // Return the sampler if it is an AgentSampler or InterruptSampler, respectively; otherwise null.
  AgentSampler *agent() const { return dynamic_cast<AgentSampler *>(first_.sampler.get()); }
  InterruptSampler *interrupts() const {
    return dynamic_cast<InterruptSampler *>(first_.sampler.get());
  }
  InterruptClock &clock() { return clock_; }
  RunClock &time() { return time_; }
  const RunClock &time() const { return time_; }

  // --- names
  bool has_profile() const { return is_active() || profiles_.named() || profiles_.has_kept(); }
  // Names everything that was collected. has_profile() must hold.
  Result<ProfilePtr> profile();
  // Names what an interrupted look-up has left unnamed, without the debugger. Called before a new
  // sampler begins.
  Result<void> name_frozen();

  // Adds the stacks of one tick. Asks for the names of a remote program's code, because only the
  // debugger knows them, and only while the program exists.
  Result<void> tick(std::span<const ThreadStack> stacks);

private:
  std::vector<SampledProcess>::const_iterator other(int32_t pid) const;
  bool any_runs() const;
  void set_limit(); // from now on
  void resume(SampledProcess &process);
  void end_part(SampledProcess &process, std::string_view trigger);
  // Ends the sampler, and freezes its profile.
  Result<void> finish(SampledProcess &process, std::string_view trigger);
  Result<void> finish_other(int32_t pid, std::string_view trigger);
  void begin_with_other(); // makes another process the first, if there is one
  // Names what has ended. The text reports the end of process `pid` unless it is 0.
  Result<std::string> keep_ended(int32_t pid, std::string_view trigger);
  // Returns the sampler's profile, with the passes of the region.
  Result<StackProfile> snapshot(SampledProcess &process, std::string_view trigger,
                                uint64_t begin_ns, uint64_t end_ns);
  // Names the profiles that are frozen, one after the other, and keeps them.
  Result<void> keep_frozen(NameLookup::Asks asks);
  Result<StackProfile> live_profile(); // with names, of all running samplers

  const DebugEvent &target_;
  ProfileStore &profiles_;
  NameLookup &names_;
  InterruptClock clock_; // outlives the sampler, which uses it
  SampledProcess first_;
  std::vector<SampledProcess> others_;
  AgentFacts ended_agent_; // facts of the newest agent, once it has ended
  StartOptions options_;
  bool needs_deep_dumps_ = false;
  RunClock time_;
  uint64_t limit_at_ns_ = no_limit; // the running time at which sampling ends
  SamplerStatus ended_;             // sums over the samplers of this profile that have ended
};

} // namespace tally
