// Bytes packed as gzip (RFC 1952).
#pragma once

#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally {

// One member without a name or a time: equal bytes give equal bytes.
Result<std::string> gzip_packed(std::string_view bytes);

} // namespace tally
