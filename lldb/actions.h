// Makes the changes in LLDB that sampling needs, and undoes them.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lldb/API/LLDB.h>

#include "interrupter.h"
#include "region.h"
#include "session.h"
#include "signals.h"
#include "temporary.h"

namespace tally_lldb {

class Actions {
public:
  // `find_sampled` is the region's.
  Actions(Session &session, std::function<bool(int pid)> find_sampled)
      : session_(session), interrupter_(session, signals_),
        region_(session, std::move(find_sampled)) {}

  // Performs a request; see Performer::act(). Call this on the debugger's thread.
  Refused act(lldb::SBDebugger &debugger, Act act, const Words &words,
              const std::vector<int32_t> &signals);
  // Queues a request until catch_up(). Any thread may call this.
  void put_off(Act act, const Words &words, const std::vector<int32_t> &signals);
  // Performs the queued requests. Call this on the debugger's thread.
  void catch_up(lldb::SBDebugger &debugger);

  // before_launch() sets the target's environment for preloading, after_launch() restores it, so
  // that the environment is changed only during a launch.
  void before_launch(lldb::SBDebugger &debugger);
  void after_launch(lldb::SBDebugger &debugger);

  Interrupter &interrupter() { return interrupter_; }
  Region &region() { return region_; }
  Temporary &temporary() { return temporary_; }

private:
  struct Later {
    Act act;
    Words words;
    std::vector<int32_t> signals;
  };
  Session &session_;
  Signals signals_;
  Interrupter interrupter_;
  Region region_;
  Temporary temporary_;
  std::mutex mutex_;
  std::vector<Later> later_;
  Words preload_; // the library and "NAME=VALUE"; empty if nothing is to be preloaded
  struct Variable {
    std::string ours;
    std::optional<std::string> theirs; // the user's value, which is restored
  };
  std::map<std::string, Variable> variables_; // the environment variables set in launched_
  lldb::SBTarget launched_;
};

} // namespace tally_lldb
