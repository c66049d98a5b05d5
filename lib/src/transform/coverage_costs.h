// Converts coverage to a profile, for everything that reads profiles.
#pragma once

#include "model/cost_profile.h"
#include "model/coverage.h"

namespace tally {

// Returns a profile with one event, Executions: how often each line ran (times_run()). Lines that
// did not run have a row of cost 0. A line belongs to the innermost function around it, as far as
// the end lines of functions are known. If several instances begin in one line, it belongs to the
// first.
Result<CostProfile> costs_of(const Coverage &coverage);

} // namespace tally
