// Places in a program that people type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tally {

// "0x1000-0x2000", "0x1000,8192": [low, high), as it was typed; nothing where it is no such thing.
std::optional<std::pair<uint64_t, uint64_t>> range_of(std::string_view text);

} // namespace tally
