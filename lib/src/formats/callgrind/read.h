#pragma once

#include <string_view>

#include <tally/formats.h>

namespace tally::callgrind {

bool probe(std::string_view head);
Result<Profile> read(std::string_view bytes, std::string_view source, Diagnostics &diagnostics);

} // namespace tally::callgrind
