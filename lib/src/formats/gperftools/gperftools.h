// Reads the CPU and heap profiles of gperftools, and the heap profiles of jemalloc, which FORMAT.md
// describes.
#pragma once

#include <string_view>

#include "formats/formats.h"
#include "model/unwinder.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally::gperftools {

bool probe(std::string_view head);
// Returns a profile with addresses but without names. The unwinder is not used.
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics, Unwinder *unwinder);

} // namespace tally::gperftools
