#pragma once

#include <tally/coverage.h>
#include <tally/formats.h>

#include "formats/gcovr/version.h"

namespace tally::gcovr {

bool probe(std::string_view head);
Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const Coverage &coverage, const WriteOptions &options);

} // namespace tally::gcovr
