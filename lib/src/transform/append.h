// Adds up stacks of processes that were sampled at the same time.
#pragma once

#include "transform/merge.h"

namespace tally {

// Does what append_stacks() does, for a profile whose times are on the time axis of `to`. They may
// lie before those of `to`. The parts are then in the order of their ends.
Result<void> append_same_axis(StackProfileBuilder &to, const StackProfile &from);

} // namespace tally
