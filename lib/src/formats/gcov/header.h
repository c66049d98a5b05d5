// What both files begin with, and how lengths are told.
#pragma once

#include <string_view>

#include <tally/gcov.h>

#include "formats/gcov/read.h"
#include "support/byte_cursor.h"

namespace tally::gcov {

inline constexpr uint32_t notes_magic = 0x67636e6f, data_magic = 0x67636461; // "gcno", "gcda"

// Behind the magic; the cursor has the file's byte order. Which of the two layouts it is shows in
// what follows: the other one makes no sense there.
Result<GcovHeader> take_header(ByteCursor &cursor, std::string_view bytes, std::string_view source);
ByteCursor cursor_of(std::string_view bytes); // behind the magic

// A string: its length, then bytes with NULs at the end.
std::string_view take_string(ByteCursor &cursor, const GcovHeader &header);

tl::unexpected<Error> fail_at(size_t offset, std::string message, std::string_view source);
tl::unexpected<Error> cut_at(size_t offset, std::string_view source); // the file ends there

} // namespace tally::gcov
