// The CPU time that no sample shows, as a row of a profile.
#pragma once

#include "collect/sampler.h"
#include "model/stack_profile.h"

namespace tally {

// Adds to a profile of clock ticks the row "[not sampled]": the CPU time that the kernel accounts
// for and that neither a tick nor `status.outside` shows, if it is more than the clocks' last,
// incomplete ticks. Neither its process nor its stack is known. Only for SamplerOptions::children.
Result<StackProfile> with_unsampled(StackProfile profile, const SamplerOptions &options,
                                    const SamplerStatus &status);

} // namespace tally
