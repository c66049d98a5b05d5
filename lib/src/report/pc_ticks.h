// Ticks by address as a histogram.
#pragma once

#include <cstdint>
#include <map>

#include <tally/pc_histogram.h>
#include <tally/result.h>

namespace tally {

// Counters of single bytes, in ranges around what was counted. Error `limit` before they would take
// more than `most_bytes` of memory: counters are for every byte between addresses that lie near.
Result<PcHistogram> histogram_of(const std::map<uint64_t, uint64_t> &ticks, uint64_t outside,
                                 uint32_t rate_hz, uint64_t most_bytes = uint64_t{1} << 30);

} // namespace tally
