#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "formats/formats.h"

namespace tally::speedscope {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const StackProfile &profile, const WriteOptions &options);

// The units of weights; of a time, the nanoseconds of one.
struct WeightUnit {
  std::string_view name;
  int64_t unit_ns = 0;
};
inline constexpr std::array<WeightUnit, 6> weight_units{{{"none"},
                                                         {"nanoseconds", 1},
                                                         {"microseconds", 1'000},
                                                         {"milliseconds", 1'000'000},
                                                         {"seconds", 1'000'000'000},
                                                         {"bytes"}}};

// The key of what only Tally writes, in the file and in its profiles; see FORMAT.md.
inline constexpr std::string_view own_key = "tally";

} // namespace tally::speedscope
