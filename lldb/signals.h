// `process handle SIGNAL …`, and back.
#pragma once

#include <map>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

struct Handling {
  bool suppress, stop, notify;
};

// Those that were changed, with what they were.
class Signals {
public:
  void handle(lldb::SBProcess process, int number, Handling handling);
  void restore();
  // As the user has it.
  bool stops(lldb::SBProcess process, int number) const;

private:
  lldb::SBProcess process_;
  std::map<int, Handling> before_;
};

} // namespace tally_lldb
