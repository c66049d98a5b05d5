// Changes how LLDB handles signals, like `process handle SIGNAL …`, and restores the previous
// settings.
#pragma once

#include <map>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

struct Handling {
  bool suppress, stop, notify;
};

// Changes the handling of signals, and keeps their previous settings.
class Signals {
public:
  void handle(lldb::SBProcess process, int number, Handling handling);
  void restore();
  // Returns whether the signal stops the process by the user's setting.
  bool stops(lldb::SBProcess process, int number) const;

private:
  lldb::SBProcess process_;
  std::map<int, Handling> before_;
};

} // namespace tally_lldb
