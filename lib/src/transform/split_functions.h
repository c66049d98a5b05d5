// Functions of which the compiler moved a piece into a function of its own.
#pragma once

#include <vector>

#include "model/stack_profile.h"

namespace tally {

// Returns whether the outermost frame of a stack and the innermost of its caller have the same
// function, as if it called itself.
bool repeats_function(const StackProfile &profile, StackId stack);

// Returns the profile with one frame for each activation of a function that the compiler split.
// `pieces` tells for each location whether the outermost function's code there is such a piece
// (GCC's f.part.0). Debug information calls the piece and the rest of the function by one name, so
// that their two frames look like a recursive call. The frame of the rest, which did nothing but
// call the piece, is left out.
Result<StackProfile> join_split_functions(const StackProfile &profile,
                                          const std::vector<bool> &pieces);

} // namespace tally
