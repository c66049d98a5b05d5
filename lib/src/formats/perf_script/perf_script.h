// Reads the text that `perf script` prints, which FORMAT.md describes.
#pragma once

#include <string_view>

#include "formats/formats.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally::perf_script {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::perf_script
