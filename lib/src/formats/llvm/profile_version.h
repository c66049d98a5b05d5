// The version of a raw or an indexed profile, and the flags above it.
#pragma once

#include <cstdint>

namespace tally::llvm {

inline constexpr uint64_t version_bits = 0xffffffff;
inline constexpr uint64_t of_optimizer = uint64_t{1} << 56; // not of coverage
inline constexpr uint64_t has_second_summary = uint64_t{1} << 57;
inline constexpr uint64_t byte_counters = uint64_t{1} << 60;

} // namespace tally::llvm
