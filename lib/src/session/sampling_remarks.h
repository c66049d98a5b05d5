// Remarks on how well the samples represent a program, for the debuggers and the command line. Each
// is a line without a line end, and empty if there is nothing to say.
#pragma once

#include <cstdint>
#include <string>

#include "collect/sampler.h"

namespace tally {

// Returns what a very high frequency of perf's clock or of the agent's costs.
std::string cost_remark(uint32_t frequency_hz);

// Returns how many samples were lost.
std::string lost_remark(const SamplerStatus &status);

// Returns how much of a run may be missing because its sampler came late.
std::string missed_remark(const SamplerStatus &status);

// Returns how much of the CPU time the samples of a clock stand for, if it is less than a third.
std::string share_remark(const SamplerStatus &status);

// Returns whether so many stacks were deeper than their dumps that larger ones are needed.
bool has_short_dumps(const SamplerStatus &status);
// Returns how many stacks are truncated, if many are, and what to do.
std::string truncation_remark(const SamplerStatus &status);

} // namespace tally
