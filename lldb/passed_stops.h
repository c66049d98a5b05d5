// The user's breakpoints that LLDB may pass by itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

// tally_place, with its text.
struct StopPlace {
  std::string file;
  uint64_t address = 0;
};

// Of enabled breakpoints with a condition, a count of passes to ignore, a thread of their own, or
// that continue by themselves. By file where one is known: before a launch no address is.
std::vector<StopPlace> passed_stops(lldb::SBTarget target);

} // namespace tally_lldb
