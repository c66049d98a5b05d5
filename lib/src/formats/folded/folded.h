#pragma once

#include <tally/formats.h>

namespace tally::folded {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const StackProfile &profile, const WriteOptions &options);

} // namespace tally::folded
