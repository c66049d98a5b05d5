// Writes indexed profiles (.profdata), as llvm-profdata does. FORMAT.md describes them.
#pragma once

#include <string>

#include "formats/llvm/source_profile.h"
#include "support/result.h"

namespace tally::llvm {

// Returns the bytes of an indexed profile with the first image of `profile`, which has the names of
// all functions, and each pair of name and function hash once. Equal profiles give the same bytes.
// Binary ids need version 9, and bitmaps version 11: older versions leave them out. Fails with
// limit if the table of functions cannot be written.
Result<std::string> write_indexed_profile(const SourceProfile &profile);

} // namespace tally::llvm
