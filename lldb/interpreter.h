// Commands given to LLDB, and text written to the user.
#pragma once

#include <string>
#include <string_view>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

Outcome interpret(lldb::SBDebugger &debugger, lldb::SBTarget target, const std::string &command);
Outcome interpret(lldb::SBDebugger &debugger, const std::string &command); // the selected target
std::string quoted(const std::string &text, std::string_view escaped); // a backslash before those
std::string as_word(const std::string &word);                          // of such a command
// Commands wait for the process, for the length of a scope.
class Synchronous {
public:
  explicit Synchronous(lldb::SBDebugger &debugger)
      : debugger_(debugger), before_(debugger.GetAsync()) {
    debugger_.SetAsync(false);
  }
  Synchronous(const Synchronous &) = delete;
  ~Synchronous() { debugger_.SetAsync(before_); }

private:
  lldb::SBDebugger &debugger_;
  bool before_;
};

// The process of that id, which one of the debugger's targets holds; invalid: none does.
lldb::SBProcess process_of(lldb::SBDebugger &debugger, int32_t pid);
bool is_terminal(lldb::SBDebugger &debugger);
void print(lldb::SBDebugger &debugger, const std::string &text);
void print_error(lldb::SBDebugger &debugger, const std::string &text);

} // namespace tally_lldb
