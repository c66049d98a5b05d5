// What a session remembers. session.cpp follows the process, commands.cpp does what is typed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <tally/sampler.h>
#include <tally/session.h>
#include <tally/symbolization.h>

#include "session/options.h"

namespace tally {

struct StartOptions {
  uint32_t frequency_hz = 1000;
  StackMode stacks = StackMode::fp;
  bool chosen = false; // the backend was named, not left to `auto`
  friend bool operator==(const StartOptions &, const StartOptions &) = default;
};

struct Session::State {
  using Then = std::function<Result<Reply>(const StackProfile &)>;
  using Profile = std::shared_ptr<const StackProfile>; // null: there is none

  State();

  // session.cpp
  Result<Reply> event(const DebugEvent &event);
  Result<void> check_target() const; // refuses what is no process of this machine
  Result<void> begin_sampling();
  // `tell`: of an end that nothing else shows.
  Result<Reply> end_sampling(std::string_view trigger, bool tell = false);
  void end_part(std::string_view trigger);
  void note_stop();
  SamplerStatus sums();
  // Calls `then` with all that was collected, named; over as many requests as it takes.
  // It may be called after the command is gone: it holds values, no views into that.
  Result<Reply> with_names(Then then);
  Result<Reply> pump();
  Result<Reply> finish_names();
  // Answers what is requested with nothing, to the end.
  Result<void> finish_requests(Reply reply);
  Result<Reply> answer(std::span<const std::string> answers);
  void use_answer(uint64_t address, std::string_view answer);
  Result<Reply> cancel();
  Result<void> set(std::string_view name, std::string_view value);

  // commands.cpp
  Result<Reply> run(const ParsedCommand &command);
  Result<Reply> start(const ParsedCommand &command);
  Result<Reply> stop(const ParsedCommand &command);
  Result<Reply> status(const ParsedCommand &command);
  Result<Reply> report(const ParsedCommand &command);
  Result<Reply> dump(const ParsedCommand &command);
  Result<Reply> diff(const ParsedCommand &command);
  Result<Reply> clear(const ParsedCommand &command);
  Result<Reply> config(const ParsedCommand &command);
  Result<Reply> histogram(const ParsedCommand &command); // histogram.cpp
  // with_names(), refused where no sample was collected.
  Result<Reply> with_samples(const ParsedCommand &command, Then then);
  std::string why_no_samples(); // as far as it is known
  std::string state_words(bool process_gone) const;
  std::string warnings() const;
  std::string sampling_words() const; // "perf, 1000 Hz of CPU time, stacks by frame pointers"

  std::map<std::string, std::string, std::less<>> settings;

  uint32_t width = 80; // of the terminal
  DebugEvent target;   // the newest that a front told
  StartOptions options;
  bool armed = false; // `start` was given, `stop` not yet
  std::unique_ptr<Sampler> sampler;
  int32_t sampled_pid = 0; // of the newest sampler
  std::string sampled_command;
  StartOptions sampled_options;

  bool running = false;       // the process runs, and is sampled
  uint64_t changed_at_ns = 0; // when `running` last changed
  uint64_t running_ns = 0;    // of this profile, up to then
  uint64_t stopped_ns = 0;

  SamplerStatus done; // sums over samplers that ended, of this profile
  Profile frozen;     // what an ended sampler collected, waiting for names
  Profile kept;       // what ended samplers collected, named
  Profile named;      // all there is, named; valid until the process runs on
  Profile previous;   // of the run before, named

  std::unique_ptr<Symbolizer> symbolizer; // one a run: files may be built anew in between
  Diagnostics diagnostics;
  std::unique_ptr<Symbolization> job;
  bool asked_debugger = false;
  std::map<uint64_t, std::string> told; // the debugger's answers, by address, of this process
  Then then;
};

} // namespace tally
