// The places where a debugger stops the program, with the code there.
#pragma once

#include <cstdint>
#include <span>

#include <sys/types.h>

#include <tally/stop_places.h>

namespace tally {

// A stop at a run-time address of process `pid` for a region.
void add_region_stop(StopPlaces &stops, pid_t pid, uint64_t pc);

// Breakpoints that the debugger passes by itself. `pid` of 0 is a remote process.
void add_passed_stops(StopPlaces &stops, pid_t pid, std::span<const StopPlace> places);

// GDB steps over a breakpoint by a copy of the instruction, at the program's entry.
void note_step_area(StopPlaces &stops, pid_t pid);

} // namespace tally
