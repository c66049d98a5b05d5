// How a process is sampled: the options of `profile start`, after the settings were applied.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "collect/sampler.h"
#include "session/region.h"
#include "support/result.h"

namespace tally {

enum class Backend : uint8_t { perf, agent, interrupt };
std::string_view name_of(Backend backend);

struct StartOptions {
  uint32_t frequency_hz = 1000;
  std::vector<SampledEvent> events; // empty means the clock
  StackMode stacks = *stack_mode_by_name(default_stack_mode);
  uint32_t stack_bytes = 0; // as in SamplerOptions
  bool wall = false;        // the user asked for the wall clock
  bool children = false;    // sample the processes that the program forks, too
  Backend backend = Backend::perf;
  bool chosen = false;            // the user named the backend; false for `auto`
  bool remote = false;            // the sampled process is on a remote target
  std::shared_ptr<Region> region; // null means the whole program
  uint64_t limit_ns = 0;          // sampling ends after this running time; 0 means that it does not
  bool runs_on = false;           // the program is not stopped then
  friend bool operator==(const StartOptions &, const StartOptions &) = default;
};

struct ParsedCommand;
// Returns the number of --stack-bytes, rounded up to what the kernel accepts; 0 without the option.
uint32_t stack_bytes_of(const ParsedCommand &command);

// Returns the time of --for in ns; 0 without the option. Fails with invalid_argument if that time
// is 0, or if --continue is given alone.
Result<uint64_t> limit_ns_of(const ParsedCommand &command);

// Returns the events that the command's --event names, as events_by_names() does; none without the
// option. With waits, the clock is always among them. Fails with invalid_argument if a frequency is
// given and the clock is not among the events, or if waits and context-switches are.
Result<std::vector<SampledEvent>> sampled_events(const ParsedCommand &command, bool waits);

} // namespace tally
