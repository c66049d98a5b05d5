// Errors for sums that exceed 64 bits.
#pragma once

#include <tally/result.h>

namespace tally {

inline tl::unexpected<Error> calls_overflow() {
  return fail(ErrorCode::overflow, "the costs of calls add up to more than 64 bits hold");
}
inline tl::unexpected<Error> lines_overflow() {
  return fail(ErrorCode::overflow, "the costs of a line add up to more than 64 bits hold");
}

} // namespace tally
