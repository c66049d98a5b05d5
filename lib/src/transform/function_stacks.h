// Stacks of functions, without the lines and the addresses of frames.
#pragma once

#include "model/stack_profile.h"

namespace tally {

// Returns the profile with the functions of each frame alone. Stacks of the same functions are one,
// so that the result is smaller. Neither values by function nor threads and parts change. Mappings
// and times are dropped.
Result<StackProfile> function_stacks(const StackProfile &profile);

} // namespace tally
