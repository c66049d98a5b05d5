// Selects samples by the frames on their stacks, and frames: SampleFilter's patterns.
#pragma once

#include <string_view>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "transform/sample_filter.h"

namespace tally {

// Applies SampleFilter::focus, ignore, hide and fold, and nothing else. Samples keep their threads,
// parts and times. The rules for focus, ignore and hide are pprof's (FilterSamplesByName() of
// github.com/google/pprof/profile): focus and ignore see the frames that hide removes.
Result<StackProfile> filter_frames(const StackProfile &profile, const SampleFilter &wanted);
// Returns the error unsupported, for an option that a profile of costs cannot satisfy.
tl::unexpected<Error> needs_stacks(std::string_view option);
// Fails with needs_stacks().
Result<CostProfile> filter_frames(const CostProfile &profile, const SampleFilter &wanted);

} // namespace tally
