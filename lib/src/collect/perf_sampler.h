// Declares the sampler that reads the kernel's clocks, for callers that opened them by other means.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <sys/types.h>

#include "collect/perf_events.h"
#include "collect/sampler.h"

namespace tally {

// Starts a sampler. `events` are the clocks of `tids`, which are all threads that the process had
// when the clocks were opened.
Result<std::unique_ptr<Sampler>> start_perf_sampler(pid_t pid, const SamplerOptions &options,
                                                    PerfEvents events, std::span<const pid_t> tids);

// Why other samplers than perf refuse SamplerOptions::event.
inline constexpr std::string_view samples_the_clock_only =
    "samples the clock only: other events need the perf backend";

// Checks the options that all samplers have in common.
Result<void> check_sampler_options(const SamplerOptions &options);

} // namespace tally
