// Adds up cost profiles and puts them in canonical order.
#pragma once

#include <span>
#include <string>

#include <tally/cost_profile.h>
#include <tally/result.h>

namespace tally {

// Returns the same profile with its rows in an order that depends only on names and numbers: by
// part, then the function's object, file and name, then lines of the function's own file before
// those of other files, then position. Rows with equal keys are added up. The key of a cost is
// (function, line file, position); the key of a call also has callee and target; the key of a jump
// also has target and kind. Names that no row uses are dropped. A sum of more than 64 bits is an
// error.
TALLY_API Result<CostProfile> canonical(const CostProfile &profile);

// Returns the sum of all parts of the profiles as one part, in canonical order. The order and the
// grouping of the inputs do not change the result. Events are matched by name; an event that a
// profile lacks counts 0 there. If all profiles have the same events, their order is kept;
// otherwise they are in Valgrind's order, then by name. The command, the creator and each
// description are kept if all profiles agree on them; pid, thread and time range are dropped. The
// positions of all profiles must hold the same fields (address, basic block, line), otherwise the
// sum is invalid_input; `names`, one for each profile, are for this error.
TALLY_API Result<CostProfile> merge(std::span<const CostProfile *const> profiles,
                                    std::span<const std::string> names = {});

} // namespace tally
