// Temporary breakpoints on functions, which the session names by the addresses of their entries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

class Temporary {
public:
  // Sets breakpoints in the selected target's process. Returns the number of those that are set, or
  // nothing if the process is running.
  std::optional<size_t> begin(lldb::SBDebugger &debugger, std::span<const uint64_t> entries);
  // Deletes those that were not hit if their process is gone. They concern what this process has
  // run, and another one has run something else.
  void look();

private:
  lldb::SBTarget target_;
  uint32_t process_ = 0;                          // the unique id of the process
  std::map<uint64_t, lldb::break_id_t> by_entry_; // some may have been hit
};

} // namespace tally_lldb
