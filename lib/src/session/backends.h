// Chooses the backend that samples, and keeps the front end ready for the next run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "collect/agent.h"
#include "collect/stop_addresses.h"
#include "session/front.h"
#include "session/sampling.h"
#include "session/start_options.h"

namespace tally {

// Returns "page-faults (each one), cycles (one in 1000003)", with the rate of the clock if it is
// among the events.
std::string event_words(const StartOptions &options);

class Backends {
public:
  // `front` and `sampling` outlive this object.
  Backends(Front &front, Sampling &sampling) : front_(front), sampling_(sampling) {}

  // Errors: unsupported if the target cannot be sampled by any backend.
  Result<void> check_target() const;
  // Begins to sample, or arms sampling for the next process. `auto` tries one backend after the
  // other. The text names the backend that works; the error says why none does.
  Result<std::string> begin(const StartOptions &wanted);
  // The process is about to run: begins to sample it if that was armed.
  Result<std::string> process_resumed();
  // A process runs beside the first sampled one: samples it with the same options. The text says
  // once for each process why it cannot be sampled.
  Result<std::string> other_resumed(const DebugEvent &event);
  // At a stop, ends a sampler that no longer works, or continues with the next backend.
  Result<std::string> follow_sampler();
  // Undoes what the debugger changed for sampling, unless sampling is armed for the next run. The
  // text says why the next run is not sampled, although it was armed.
  std::string undo_changes(bool process_gone);

  bool is_armed() const { return armed_; } // `start` was given, and `stop` was not
  void disarm() { armed_ = false; }

  const StartOptions &options() const { return options_; }
  void set_region(std::shared_ptr<Region> region);
  StopAddresses &passed_stops() { return *passed_stops_; }

  std::string sampling_words() const; // "perf (auto: …), 1000 Hz of CPU time, stacks by …"
  // The backends that `auto` tried before, and why each was refused: "perf: …; agent: …".
  std::string passed_over_words() const;

private:
  Result<std::string> try_each(const std::vector<Backend> &backends);
  Result<void> try_backend(Backend backend);
  // Returns whether other backends may be tried after `why`. If not, `why` names the fault.
  bool may_go_on(Error &why) const;
  void pass_over(std::string_view why);
  // `started` works. `missed_ns` is for SamplerStatus.
  void begin_with(std::unique_ptr<Sampler> started, uint64_t missed_ns = 0);
  std::string begun();
  Result<std::string> begin_armed();
  Result<void> prepare_perf();
  Result<void> prepare_agent(bool next_run); // if false, for the existing process
  Result<void> prepare_interrupt();
  Result<void> interrupt_process(bool remote);
  SamplerOptions sampler_options() const;
  std::string why_not_beside(const DebugEvent &event) const; // empty if it can be sampled

  Front &front_;
  Sampling &sampling_;
  StartOptions options_;
  bool armed_ = false;
  std::vector<std::string> passed_over_; // by `auto`: "perf: refused …"
  bool user_code_only_ = false;          // perf, when last tried, could not sample the kernel
  const std::shared_ptr<StopAddresses> passed_stops_ = std::make_shared<StopAddresses>();
  std::unique_ptr<AgentSampler> preloaded_; // waits for the next run
  std::optional<bool> interrupting_; // the front end was asked to interrupt; true: a remote process
  int interrupt_signal_ = 0;         // the signal that interrupts; 0: as Ctrl-C does
  bool signals_changed_ = false;     // by the front end, at our request
  int32_t given_up_pid_ = 0;         // the process whose sampler ended and is not restarted
  std::set<int32_t> refused_others_; // the processes that are not sampled beside the first
};

} // namespace tally
