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

// What tally_session_set_passed_stops() is told: by file where one is known, for before a launch no
// address is.
std::vector<StopPlace> passed_stops(lldb::SBTarget target);

} // namespace tally_lldb
