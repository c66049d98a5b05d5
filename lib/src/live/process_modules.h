// Lists the modules of a process that can have counters.
#pragma once

#include <vector>

#include <sys/types.h>

#include <tally/result.h>

#include "live/counter_layout.h"

namespace tally::live {

// Returns the program and the shared objects that are mapped now, in the order of their addresses.
// Fails with not_found or permission if the mappings cannot be read. A file that was replaced
// since it was mapped is left out, and reported.
Result<std::vector<LoadedModule>> process_modules(pid_t pid, Diagnostics &diagnostics);

} // namespace tally::live
