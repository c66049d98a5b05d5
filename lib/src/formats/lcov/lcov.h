#pragma once

#include <tally/coverage.h>
#include <tally/formats.h>

namespace tally::lcov {

bool probe(std::string_view head);
Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics);
Written write(const Coverage &coverage);

} // namespace tally::lcov
