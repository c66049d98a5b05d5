// Compresses bytes as gzip (RFC 1952).
#pragma once

#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally {

// Returns a single member without a name or time stamp, so that equal input gives equal output.
Result<std::string> gzip_packed(std::string_view bytes);

} // namespace tally
