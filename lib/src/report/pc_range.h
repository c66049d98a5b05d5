// Parses address ranges that users type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tally {

// Parses "0x1000-0x2000" or "0x1000,8192" as [low, high). Does not check that `low` is below
// `high`. Returns nothing if `text` is not a range.
std::optional<std::pair<uint64_t, uint64_t>> range_of(std::string_view text);

} // namespace tally
