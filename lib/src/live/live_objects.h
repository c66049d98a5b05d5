// Takes the counters out of a program that is stopped or runs.
#pragma once

#include <vector>

#include <sys/types.h>

#include <tally/result.h>

#include "coverage_collect/counted_object.h"
#include "live/counter_layout.h"
#include "live/memory.h"

namespace tally::live {

// Returns the objects of a layout with the values that their counters have now. The notes are
// expected beside the file of counters that the program would write.
Result<std::vector<ObjectFiles>> objects_now(const CounterLayout &layout, Memory &memory);

// Returns the objects of a process of this machine, with their counters. Errors are those of
// process_modules() and process_memory(), and no_data if nothing in the process was compiled with
// --coverage.
Result<std::vector<ObjectFiles>> objects_of_process(pid_t pid, Diagnostics &diagnostics);

} // namespace tally::live
