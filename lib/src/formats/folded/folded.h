#pragma once

#include <tally/formats.h>

namespace tally::folded {

bool probe(std::string_view head);
Result<Profile> read(std::string_view bytes, std::string_view source, Diagnostics &diagnostics);
Result<Written> write(const StackProfile &profile, const WriteOptions &options);

} // namespace tally::folded
