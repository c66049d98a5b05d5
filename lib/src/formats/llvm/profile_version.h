// Constants of raw and indexed profiles: the version with the flags above it, and limits.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally::llvm {

inline constexpr std::string_view indexed_magic = "\xfflprofi\x81";

inline constexpr uint64_t version_bits = 0xffffffff;
inline constexpr uint64_t oldest_raw = 5, newest_raw = 11;
inline constexpr uint64_t first_relative_raw = 8; // pointers are relative to their records
inline constexpr uint64_t first_raw_with_bitmaps = 9, first_raw_with_tables = 10;
inline constexpr uint64_t of_optimizer = uint64_t{1} << 56; // not of coverage
inline constexpr uint64_t has_second_summary = uint64_t{1} << 57;
inline constexpr uint64_t byte_counters = uint64_t{1} << 60;
inline constexpr uint64_t has_memory_profile = uint64_t{1} << 62;
inline constexpr uint64_t has_traces = uint64_t{1} << 63;

// Larger counts mark functions whose counts are not known (InstrProf.h, getInstrMaxCountValue()).
inline constexpr uint64_t most_counted = UINT64_MAX - 2;
// The bytes of a function's value data without values: their size, and the number of their kinds.
inline constexpr uint32_t empty_values = 8;

} // namespace tally::llvm
