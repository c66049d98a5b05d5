// The names of functions and files, as Clang's source-based coverage stores them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/byte_cursor.h"

namespace tally::llvm {

// The most bytes that the names of functions, or those of files, of an object may have when they
// are unpacked.
inline constexpr size_t most_unpacked = size_t{1} << 28;

// Reads `size` bytes that may be packed by zlib: packed_size of 0 means that they are stored.
// Returns nothing if they are missing or damaged.
std::optional<std::string> read_packed(ByteCursor &from, uint64_t size, uint64_t packed_size);

// Returns the texts of names in __llvm_prf_names, or in a raw profile, where each may be packed.
// Returns nothing if one is damaged.
std::optional<std::vector<std::string>> read_name_texts(std::string_view section);

// Returns the names in such a text, which they refer to.
std::vector<std::string_view> names_of_text(std::string_view text);

} // namespace tally::llvm
