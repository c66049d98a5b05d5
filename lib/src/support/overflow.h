// Errors for sums that exceed 64 bits.
#pragma once

#include "support/result.h"

namespace tally {

inline tl::unexpected<Error> calls_overflow() {
  return fail(ErrorCode::overflow, "the sum of the costs of calls exceeds 64 bits");
}
inline tl::unexpected<Error> lines_overflow() {
  return fail(ErrorCode::overflow, "the sum of the costs of a line exceeds 64 bits");
}

} // namespace tally
