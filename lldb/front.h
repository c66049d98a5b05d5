// What the plug-in is for one debugger: its session, and what follows the process.
#pragma once

#include <memory>
#include <string>

#include <lldb/API/LLDB.h>

#include "inferior.h"
#include "session.h"

namespace tally_lldb {

// Registers `profile` in this debugger; a second time it does nothing. False: refused, and said
// why.
bool load(lldb::SBDebugger &debugger) noexcept;

class Front {
public:
  explicit Front(const Library &library);
  void connect(lldb::SBDebugger &debugger); // to its commands
  // Ends sampling and all threads; harmless when done twice.
  void close() noexcept;

  // `profile NAME WORDS`, on the debugger's thread.
  void run(lldb::SBDebugger &debugger, const std::string &name, char **words,
           lldb::SBCommandReturnObject &result);

private:
  Session session_;
  Inferior inferior_;
};

} // namespace tally_lldb
