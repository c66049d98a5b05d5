// Lists the modules of a process that can have counters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "live/counter_layout.h"
#include "support/result.h"

namespace tally::live {

// Returns the text of /proc/PID/maps. Fails with not_found or permission.
Result<std::string> read_maps(pid_t pid);

// Returns the program and the shared objects that the text of /proc/PID/maps lists, in the order of
// their addresses. A file that was replaced since it was mapped is left out, and reported.
std::vector<LoadedModule> modules_of(std::string_view maps, pid_t pid, Diagnostics &diagnostics);

} // namespace tally::live
