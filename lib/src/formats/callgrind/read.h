#pragma once

#include <string_view>

#include "formats/formats.h"

namespace tally::callgrind {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::callgrind
