// Sums of cost profiles, and their canonical order.
#pragma once

#include <span>
#include <string>

#include <tally/cost_profile.h>
#include <tally/result.h>

namespace tally {

// The same profile with its rows in an order that depends on names and numbers alone: by part, then
// object, file and name of the function, the lines of its own file before those of others, then
// position. Rows of one key are added up: a cost's is (function, line file, position), a call's
// that with callee and target, a jump's that with target and kind. Names that no row needs are
// dropped. A sum beyond 64 bits is an error.
TALLY_API Result<CostProfile> canonical(const CostProfile &profile);

// The sum of the profiles, of all their parts, as one part, canonical. Neither the order nor the
// grouping of inputs changes it. Events are united by name (those that a profile lacks are 0
// there): in their order where all have the same, otherwise in Valgrind's order, then by name.
// Command, creator and descriptions are kept where all agree; pid, thread and time range are
// dropped. Positions must carry the same in all; `names`, one for each, tell which do not.
TALLY_API Result<CostProfile> merge(std::span<const CostProfile *const> profiles,
                                    std::span<const std::string> names = {});

} // namespace tally
