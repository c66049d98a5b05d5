// Computes the MD5 digest (RFC 1321), by which Clang's coverage names functions and lists of files.
// It protects nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace tally {

// Returns the digest's first eight bytes, as a little-endian number.
uint64_t md5_low(std::string_view bytes);

} // namespace tally
