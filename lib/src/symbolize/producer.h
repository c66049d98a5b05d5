// Reads how a compilation unit was compiled.
#pragma once

#include <cstdint>
#include <string>

#include "symbolize/module_file.h"

namespace tally::symbolize {

// Returns the compiler and its options ("GNU C17 12.2.0 -mtune=generic -g -O2"), which GCC records
// in DW_AT_producer, of the unit that contains a link-time address. Returns empty if there is no
// debug information for it.
std::string producer_at(const ModuleFiles &files, uint64_t address);

// Returns whether the function at a link-time address was perhaps optimized by Clang, which does
// not record its options. Without optimization, the variables of a function are relative to its
// frame pointer, and calls are not described (DW_AT_call_all_calls). The result is true for code
// without debug information.
bool may_be_optimized(const ModuleFiles &files, uint64_t address);

} // namespace tally::symbolize
