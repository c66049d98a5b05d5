// Makes the raw profile that a program with Clang's source-based coverage would write.
#pragma once

#include <string>

#include "live/counter_layout.h"
#include "live/memory.h"
#include "support/result.h"

namespace tally::live {

// Returns the bytes of a .profraw with the counters of a module, for llvm-profdata. Values that
// -fprofile-generate collects are left out. Fails with not_found if the module has none, with
// unsupported if their layout is not that of a known version of Clang, and with io if the memory
// cannot be read.
Result<std::string> raw_profile(const LoadedModule &module, Memory &memory);

} // namespace tally::live
