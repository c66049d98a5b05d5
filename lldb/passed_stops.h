// Finds the user's breakpoints that LLDB may pass without a stop for the user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

// A tally_location that owns its text.
struct BreakpointLocation {
  std::string file;
  uint64_t address = 0;
};

// Returns the addresses for tally_session_set_passed_stops(). If the file of an address is known,
// the result holds the offset in the file, because run-time addresses are unknown before a launch.
std::vector<BreakpointLocation> passed_stops(lldb::SBTarget target);

} // namespace tally_lldb
