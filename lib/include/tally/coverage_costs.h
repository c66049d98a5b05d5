// Coverage as a profile, for all that reads profiles.
#pragma once

#include <tally/cost_profile.h>
#include <tally/coverage.h>

namespace tally {

// One event, Executions: how often each line ran. A line is of the innermost function that it lies
// in, as far as the ends of functions are known; of instances that begin in one line, the first.
// Lines that did not run have a cost of 0; a count below 0 is times_run().
TALLY_API Result<CostProfile> costs_of(const Coverage &coverage);

} // namespace tally
