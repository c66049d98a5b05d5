// Executes LLDB commands and prints text for the user.
#pragma once

#include <string>
#include <string_view>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// Executes a command for a target and returns the command's output. Without `target`, the selected
// target is used.
Outcome interpret(lldb::SBDebugger &debugger, lldb::SBTarget target, const std::string &command);
Outcome interpret(lldb::SBDebugger &debugger, const std::string &command);
// Encloses the text in double quotes, and puts a backslash before each of the characters `escaped`.
std::string quoted(const std::string &text, std::string_view escaped);
std::string as_word(const std::string &word); // quotes a word of a command if necessary
// Within a scope, makes LLDB's commands wait until the process stops.
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

// Returns the process with this id if one of the debugger's targets has it, otherwise an invalid
// SBProcess.
lldb::SBProcess process_of(lldb::SBDebugger &debugger, int32_t pid);
bool is_terminal(lldb::SBDebugger &debugger);
void print(lldb::SBDebugger &debugger, const std::string &text);
void print_error(lldb::SBDebugger &debugger, const std::string &text);

} // namespace tally_lldb
