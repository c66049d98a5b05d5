// Converts ticks by address to a histogram.
#pragma once

#include <cstdint>
#include <map>

#include "model/pc_histogram.h"
#include "support/result.h"

namespace tally {

// Returns a histogram with a counter for each byte, in ranges around the addresses that have ticks.
// A range includes the small gaps between addresses, so the counters may need much memory: fails
// with limit before they need more than `most_bytes`. Fails with invalid_input for address 2^64-1.
Result<PcHistogram> histogram_of(const std::map<uint64_t, uint64_t> &ticks, uint64_t outside,
                                 uint32_t rate_hz, uint64_t most_bytes = uint64_t{1} << 30);

} // namespace tally
