// Declares the sampler that reads the kernel's clocks, for callers that opened them by other means.
#pragma once

#include <memory>
#include <span>

#include <sys/types.h>

#include <tally/sampler.h>

#include "collect/perf_events.h"

namespace tally {

// Starts a sampler. `events` are the clocks of `tids`, which are all threads that the process had
// when the clocks were opened.
Result<std::unique_ptr<Sampler>> start_perf_sampler(pid_t pid, const SamplerOptions &options,
                                                    PerfEvents events, std::span<const pid_t> tids);

// Checks the options that all samplers have in common.
Result<void> check_sampler_options(const SamplerOptions &options);

} // namespace tally
