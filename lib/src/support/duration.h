// Parses durations that users type.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/result.h"

namespace tally {

// Returns whether the text begins like a number: users mean a duration, even if it is not a valid
// one.
bool is_like_duration(std::string_view text);

// Parses a number with a unit, "1.2s", "300 ms", "15us" or "2min", in nanoseconds; 0 needs no unit.
// The units are ns, us (or µs), ms, s, min and h. Fractions of a nanosecond are dropped. Anything
// else is invalid_argument, with a message alone.
Result<uint64_t> duration_of(std::string_view text);

} // namespace tally
