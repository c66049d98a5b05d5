// What is changed in LLDB for as long as sampling needs it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

#include "interrupter.h"
#include "region.h"
#include "session.h"
#include "signals.h"

namespace tally_lldb {

class Actions {
public:
  explicit Actions(Session &session)
      : session_(session), interrupter_(session, signals_), region_(session) {}

  // On the debugger's thread; "" or why it could not be done.
  std::string act(lldb::SBDebugger &debugger, int request, const Words &words,
                  const std::vector<int32_t> &signals);
  // Any thread: to be done when the debugger's next looks.
  void put_off(int request, const Words &words, const std::vector<int32_t> &signals);
  void catch_up(lldb::SBDebugger &debugger);

  // Around a launch: what is to be preloaded is in the target's environment for no longer.
  void before_launch(lldb::SBDebugger &debugger);
  void after_launch(lldb::SBDebugger &debugger);

  Interrupter &interrupter() { return interrupter_; }
  Region &region() { return region_; }

private:
  struct Later {
    int request;
    Words words;
    std::vector<int32_t> signals;
  };
  Session &session_;
  Signals signals_;
  Interrupter interrupter_;
  Region region_;
  std::mutex mutex_;
  std::vector<Later> later_;
  Words preload_; // the library and "NAME=VALUE"; empty: nothing
  struct Variable {
    std::string ours;
    std::optional<std::string> theirs;
  };
  std::map<std::string, Variable> variables_; // of the environment of
  lldb::SBTarget launched_;
};

} // namespace tally_lldb
