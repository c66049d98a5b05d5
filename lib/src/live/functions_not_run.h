// Finds the functions of a stopped program that have not run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "live/counter_layout.h"
#include "live/counter_snapshot.h"
#include "live/open_functions.h"

namespace tally::live {

struct FunctionsNotRun {
  size_t all = 0;                  // how many there are
  size_t with_code = 0;            // how many of them have code of their own
  std::vector<uint64_t> addresses; // run-time, of the entries of these; sorted
};

// Finds the functions whose counters are all 0 and that no thread is in. GCC counts on each way
// through a function, so that such a function has never returned or called another one.
//
// `place` is the path of a source file or of a module, or the last components of it. If it is
// empty, all files are meant except those below /usr. Returns nothing if no function with counters
// belongs to the place.
//
// A function has no code of its own if each call of it was inlined, and none is known if its module
// has no symbol table, or if several functions have its name and the debug information does not
// tell which is which.
std::optional<FunctionsNotRun>
functions_not_run(const CounterLayout &layout, std::span<const LoadedModule> modules,
                  const Notes &notes, const CounterSnapshot &snapshot,
                  std::span<const StoppedThread> threads, std::string_view place);

} // namespace tally::live
