// The sampler on the kernel's clocks, for who has opened them by other means.
#pragma once

#include <memory>
#include <span>

#include <sys/types.h>

#include <tally/sampler.h>

#include "collect/perf_events.h"

namespace tally {

// `events` are the clocks of `tids`, all threads that the process had when they were opened.
Result<std::unique_ptr<Sampler>> start_perf_sampler(pid_t pid, const SamplerOptions &options,
                                                    PerfEvents events, std::span<const pid_t> tids);

// What every sampler asks of its options.
Result<void> check_sampler_options(const SamplerOptions &options);

} // namespace tally
