// The plug-in's state for one debugger: the session, and the code that follows the process.
#pragma once

#include <memory>
#include <string>

#include <lldb/API/LLDB.h>

#include "inferior.h"
#include "session.h"

namespace tally_lldb {

// Registers `profile` in this debugger; a second call does nothing. Returns false if that failed,
// after a message to the user.
bool load(lldb::SBDebugger &debugger) noexcept;

class Front {
public:
  Front();
  void connect(lldb::SBDebugger &debugger); // hooks into the debugger's commands
  // Ends sampling and all threads. A second call does nothing.
  void close() noexcept;

  // Runs `GROUP NAME WORDS`. Call it on the debugger's thread.
  void run(lldb::SBDebugger &debugger, const std::string &group, const std::string &name,
           char **words, lldb::SBCommandReturnObject &result);

private:
  Session session_;
  Inferior inferior_;
};

} // namespace tally_lldb
