// Owns the sampler of the current process, and stores its profile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/sampler.h>

#include "collect/agent.h"
#include "collect/interrupt.h"
#include "session/name_lookup.h"
#include "session/profile_store.h"
#include "session/run_clock.h"
#include "session/session.h"
#include "session/start_options.h"

namespace tally {

class Sampling {
public:
  // `target` is the front's newest event. All arguments outlive this object.
  Sampling(const DebugEvent &target, ProfileStore &profiles, NameLookup &names)
      : target_(target), profiles_(profiles), names_(names) {}

  // --- the process
  bool is_active() const { return sampler_ != nullptr; }
  // Begins a profile, or continues the kept profile if process and options are the same.
  void adopt(std::unique_ptr<Sampler> started, const StartOptions &options);
  void note_resume();
  void end_part(std::string_view trigger);
  // Ends sampling, and looks up the names while the files are still those that ran. With
  // `announce`, the reply reports the end, which the user does not see otherwise.
  Result<Reply> end(std::string_view trigger, bool announce = false);
  void abandon(); // the sampler never worked
  // Counts only inside of `region` from now on, and forgets what was collected.
  void set_region(std::shared_ptr<Region> region);
  void forget(); // discards the samples; sampling continues

  // Return the process and the options of the newest sampler, even after it has ended.
  int32_t pid() const { return pid_; }
  const StartOptions &options() const { return options_; }
  Region *region() const { return options_.region.get(); }

  // --- counters, over all samplers of this profile
  SamplerStatus sums();
  AgentFacts agent_facts() const; // of the newest agent
  // Return the sampler if it is an AgentSampler or InterruptSampler, respectively; otherwise null.
  AgentSampler *agent() const { return dynamic_cast<AgentSampler *>(sampler_.get()); }
  InterruptSampler *interrupts() const { return dynamic_cast<InterruptSampler *>(sampler_.get()); }
  InterruptClock &clock() { return clock_; }
  RunClock &time() { return time_; }
  const RunClock &time() const { return time_; }

  // --- names
  using Then = std::function<Result<Reply>(const StackProfile &)>;
  bool has_profile() const { return sampler_ || profiles_.named() || profiles_.has_kept(); }
  // Names everything that was collected, by as many requests as that takes, and passes it to
  // `then`. The command may no longer exist then, so that `then` must hold values and no views of
  // it. has_profile() must hold.
  Result<Reply> with_names(Then then);
  // Names what a cancelled look-up has left unnamed. Called before a new sampler begins.
  Result<void> name_frozen();
  // Answers all pending requests with no texts, until none is left.
  Result<void> finish_requests(Reply reply);
  Result<Reply> answer(std::span<const std::string> answers);
  // Cancels the look-up, because a command came in place of an answer.
  void give_up();

  // Adds the stacks of one tick. Requests the names of a remote program's code, because only the
  // debugger knows them, and only while the program exists.
  Result<Reply> tick(std::span<const ThreadStack> stacks);

private:
  // Returns the newest sampler's profile, with the passes of the region.
  Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns);

  const DebugEvent &target_;
  ProfileStore &profiles_;
  NameLookup &names_;
  InterruptClock clock_; // outlives the sampler, which uses it
  std::unique_ptr<Sampler> sampler_;
  AgentFacts ended_agent_; // facts of the newest agent, once it has ended
  int32_t pid_ = 0;
  std::string command_;
  StartOptions options_;
  RunClock time_;
  SamplerStatus ended_;             // sums over the samplers of this profile that have ended
  std::vector<uint64_t> tick_asks_; // addresses whose names tick() has requested
};

} // namespace tally
