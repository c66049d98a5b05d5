#pragma once

#include "formats/formats.h"

namespace tally::cobertura {

bool probe(std::string_view head);
Result<Coverage> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const Coverage &coverage, const WriteOptions &options);

} // namespace tally::cobertura
