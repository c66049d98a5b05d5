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

} // namespace tally::symbolize
