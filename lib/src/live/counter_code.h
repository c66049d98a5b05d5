// Recognizes the code that updates counters.
#pragma once

#include <cstdint>
#include <vector>

#include "live/counter_layout.h"
#include "live/memory.h"

namespace tally::live {

// Returns the indexes of the counters of an array that the code around a pc updates, in ascending
// order. This is for x86-64, where an operand relative to the next instruction ("mov 0x97bc(%rip)")
// ends with four bytes of its distance, and is followed by an immediate operand of 0, 1 or 4 bytes.
// Bytes that look like such an operand by chance only add a counter. Returns nothing if the code
// cannot be read.
std::optional<std::vector<uint32_t>> counters_near(uint64_t pc, const CounterArray &array,
                                                   Memory &memory);

} // namespace tally::live
