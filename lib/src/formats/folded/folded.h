#pragma once

#include "formats/formats.h"

namespace tally::folded {

bool probe(std::string_view head);
Result<Profile> read(ByteSource &source, Diagnostics &diagnostics);
Result<Written> write(const StackProfile &profile, const WriteOptions &options);
// Does the same, and fails with ErrorCode::limit if the stacks have more bytes than this.
Result<Written> write_at_most(uint64_t most_bytes, const StackProfile &profile);

} // namespace tally::folded
