// Compresses bytes as gzip (RFC 1952), and unpacks zlib streams.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tally {

// Returns a single member without a name or time stamp, so that equal input gives equal output.
Result<std::string> gzip_packed(std::string_view bytes);

// Unpacks a zlib stream (RFC 1950) of `size` bytes. Returns nothing if the stream is damaged, or if
// it does not have exactly that many.
std::optional<std::string> zlib_unpacked(std::string_view bytes, size_t size);

} // namespace tally
