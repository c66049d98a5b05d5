// Declares what the text and the picture of a heat map share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "report/heat_map.h"

namespace tally {

// Returns the shade of a cell: 0 if it is empty, otherwise from 1 to `steps`.
size_t heat_step(uint64_t amount, uint64_t most, size_t steps);
std::string amount_words(const HeatMap &map, uint64_t amount); // "12.0 ms", "3 page-faults"
std::string what_is_shown(const HeatMap &map);                 // "CPU time"

} // namespace tally
