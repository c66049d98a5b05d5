#pragma once

#include "formats/formats.h"

namespace tally::simpleperf {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::simpleperf
