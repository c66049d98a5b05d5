// The places where a debugger stops the program, with the code there.
#pragma once

#include <span>

#include <sys/types.h>

#include <tally/stop_places.h>

namespace tally {

// `pid` is the process that run-time addresses are of; 0: a remote one.
void add_stops(StopPlaces &stops, pid_t pid, std::span<const StopPlace> places);

// GDB steps over a breakpoint by a copy of the instruction, at the program's entry.
void note_step_area(StopPlaces &stops, pid_t pid);

} // namespace tally
