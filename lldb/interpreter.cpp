#include "interpreter.h"

#include <string_view>

#include <unistd.h>

namespace tally_lldb {

namespace {

void write_to(lldb::SBFile file, const std::string &text) {
  size_t written = 0;
  if (!text.empty() && file.IsValid()) {
    file.Write(reinterpret_cast<const uint8_t *>(text.data()), text.size(), &written);
    file.Flush();
  }
}

std::string text_of(const char *text) { return text ? text : ""; }

} // namespace

Outcome interpret(lldb::SBDebugger &debugger, const std::string &command) {
  return interpret(debugger, debugger.GetSelectedTarget(), command);
}

// Sets the context explicitly. Within a command, the default is the context of that command, which
// may have begun without a process.
Outcome interpret(lldb::SBDebugger &debugger, lldb::SBTarget target, const std::string &command) {
  lldb::SBCommandReturnObject result;
  lldb::SBProcess process = target.GetProcess();
  // A process that has exited cannot evaluate expressions.
  const bool is_there = process.IsValid() && process.GetState() != lldb::eStateExited;
  lldb::SBExecutionContext context = is_there           ? lldb::SBExecutionContext(process)
                                     : target.IsValid() ? lldb::SBExecutionContext(target)
                                                        : lldb::SBExecutionContext();
  debugger.GetCommandInterpreter().HandleCommand(command.c_str(), context, result);
  Outcome out{text_of(result.GetOutput()), {}};
  if (!result.Succeeded()) {
    out.error = text_of(result.GetError());
    if (out.error.empty())
      out.error = "LLDB cannot execute the command: " + command;
  }
  return out;
}

std::string quoted(const std::string &text, std::string_view escaped) {
  std::string out = "\"";
  for (const char c : text) {
    if (escaped.find(c) != escaped.npos)
      out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string as_word(const std::string &word) {
  constexpr std::string_view plain = // "--" must stay unquoted to end the options
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=/.,:+@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos)
    return word;
  return quoted(word, "\"\\`");
}

lldb::SBProcess process_of(lldb::SBDebugger &debugger, int32_t pid) {
  for (uint32_t i = 0; pid != 0 && i < debugger.GetNumTargets(); ++i) {
    lldb::SBProcess process = debugger.GetTargetAtIndex(i).GetProcess();
    if (process.IsValid() && process.GetProcessID() == static_cast<lldb::pid_t>(pid))
      return process;
  }
  return {};
}

bool is_terminal(lldb::SBDebugger &debugger) {
  FILE *const file = debugger.GetOutputFileHandle();
  return file && ::isatty(::fileno(file)) != 0;
}

void print(lldb::SBDebugger &debugger, const std::string &text) {
  write_to(debugger.GetOutputFile(), text);
}

void print_error(lldb::SBDebugger &debugger, const std::string &text) {
  write_to(debugger.GetErrorFile(), text);
}

} // namespace tally_lldb
