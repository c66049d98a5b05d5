// The addresses where a debugger stops the program, with the code there.
#pragma once

#include <span>

#include <sys/types.h>

#include "collect/stop_addresses.h"

namespace tally {

// Adds `locations` to `stops`. `pid` is the process that run-time addresses belong to; 0 if it is
// remote.
void add_stops(StopAddresses &stops, pid_t pid, std::span<const BreakpointLocation> locations);

// Records the program's entry point as the area where GDB executes a copy of the instruction that
// it steps over (displaced stepping).
void note_step_area(StopAddresses &stops, pid_t pid);

} // namespace tally
