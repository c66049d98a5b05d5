// What `perf record` writes; FORMAT.md beside this has it.
#pragma once

#include <string_view>

#include <tally/diagnostics.h>
#include <tally/file_io.h>
#include <tally/formats.h>
#include <tally/unwinder.h>

namespace tally::perf_data {

inline constexpr std::string_view magic = "PERFILE2"; // of a little-endian machine
inline constexpr std::string_view magic_big_endian = "2ELIFREP";
inline constexpr std::string_view magic_version_1 = "PERFFILE";

bool probe(std::string_view head);
// Addresses without names. unwinder: for samples that hold registers and a copy of the stack; null:
// their callers are left out, and a finding says so.
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics, Unwinder *unwinder);

} // namespace tally::perf_data
