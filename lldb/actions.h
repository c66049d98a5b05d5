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

// The members are public for the performers, each of whose functions needs one of them.
class Actions {
public:
  // `find_sampled` is the region's.
  Actions(Session &session, std::function<bool(int pid)> find_sampled)
      : interrupter(session, signals), region(session, std::move(find_sampled)) {}

  // Sets what the next launch preloads: a library and "NAME=VALUE" for its environment.
  void preload(std::string library, std::string variable);
  void end_preload() { preload({}, {}); }
  // before_launch() sets the target's environment for preloading, after_launch() restores it, so
  // that the environment is changed only during a launch.
  void before_launch(lldb::SBDebugger &debugger);
  void after_launch(lldb::SBDebugger &debugger);

  // Keeps what is to be done on the debugger's thread until catch_up(). Any thread may call this.
  void put_off(std::function<void(tally::Front &)> what);
  // Does what was put off, by a performer of the debugger's thread.
  void catch_up(tally::Front &performer);

  Signals signals;
  Interrupter interrupter;
  Region region;
  Temporary temporary;

private:
  std::mutex mutex_; // of the next two
  std::vector<std::function<void(tally::Front &)>> later_;
  std::pair<std::string, std::string> preload_; // empty if nothing is to be preloaded
  struct Variable {
    std::string ours;
    std::optional<std::string> theirs; // the user's value, which is restored
  };
  std::map<std::string, Variable> variables_; // the environment variables set in launched_
  lldb::SBTarget launched_;
};

} // namespace tally_lldb
