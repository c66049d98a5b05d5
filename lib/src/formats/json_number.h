// Numbers of JSON as whole numbers of a smaller unit.
#pragma once

#include <cstdint>
#include <optional>

#include "support/json_tree.h"

namespace tally {

// Returns `factor` times the number, rounded; nothing if the value is not a number, or if the
// product does not fit in 63 bits.
std::optional<int64_t> scaled_integer(const JsonValue &value, int64_t factor);

} // namespace tally
