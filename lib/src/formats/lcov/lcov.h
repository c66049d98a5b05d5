#pragma once

#include "formats/formats.h"
#include "model/coverage.h"

namespace tally::lcov {

bool probe(std::string_view head);
Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const Coverage &coverage, const WriteOptions &options);

} // namespace tally::lcov
