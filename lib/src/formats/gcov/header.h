// The header of notes and counters, and the encoding of strings.
#pragma once

#include <string_view>

#include "formats/gcov.h"
#include "formats/gcov/read.h"
#include "support/byte_cursor.h"

namespace tally::gcov {

// "gcno", "gcda", "gcfn"
inline constexpr uint32_t notes_magic = 0x67636e6f, data_magic = 0x67636461,
                          name_magic = 0x6763666e;

// Returns whether a file begins with the magic, in either byte order.
bool has_magic(std::string_view head, uint32_t magic);

// Decodes a version word, which gcc/gcov-io.h describes. Until GCC 4 it has a digit for the major
// and two digits for the minor version: "408*" is 4.8. From 5 on it has a letter for the tens and a
// digit for the ones of the major version, and a digit for the minor version: "B22*" is 12.2.
// Returns 100 * major + minor, or 0 if the word has neither form.
uint32_t version_of(uint32_t word);

// Reads the header after the magic; `cursor` comes from cursor_of(). The header does not state
// which of the two layouts the file has, so take_header() chooses the layout that fits the rest of
// `bytes` better.
Result<GcovHeader> take_header(ByteCursor &cursor, std::string_view bytes, std::string_view source);
// Returns a cursor after the magic, in the file's byte order.
ByteCursor cursor_of(std::string_view bytes);

// Reads counters up to their end mark, which may be missing, and leaves `cursor` behind it. `bytes`
// begin with the magic. What follows may be another item of a stream.
Result<GcovData> take_data(ByteCursor &cursor, std::string_view bytes, std::string_view source);

// Reads a string: its length, then its bytes. Returns the bytes before the first NUL.
std::string_view take_string(ByteCursor &cursor, const GcovHeader &header);

tl::unexpected<Error> fail_at(size_t offset, std::string message, std::string_view source);
// Reports that the file is truncated within the item at `offset`.
tl::unexpected<Error> cut_at(size_t offset, std::string_view source);

} // namespace tally::gcov
