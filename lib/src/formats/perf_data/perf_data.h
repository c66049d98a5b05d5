// Reads the files of `perf record`, which FORMAT.md describes.
#pragma once

#include <string_view>

#include "formats/formats.h"
#include "model/unwinder.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally::perf_data {

inline constexpr std::string_view magic = "PERFILE2"; // written by a little-endian machine
inline constexpr std::string_view magic_big_endian = "2ELIFREP";
inline constexpr std::string_view magic_version_1 = "PERFFILE";

bool probe(std::string_view head);
// Returns a profile with addresses but without names. `unwinder` unwinds samples that have
// registers and a stack dump. If it is null, the callers of these samples are left out, and a
// diagnostic reports this.
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics, Unwinder *unwinder);

} // namespace tally::perf_data
