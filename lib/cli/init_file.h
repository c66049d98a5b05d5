// The text of a debugger's init file: finds, adds and removes the line that loads the plug-in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tally::cli {

enum class DebuggerKind : uint8_t { gdb, lldb };

// Returns the command that loads the plug-in. Errors: unsupported if the debugger cannot be told
// this path.
Result<std::string> load_command(DebuggerKind debugger, const std::string &plugin);

// What `tally setup` added to an init file: a comment that marks it, and the next line, which loads
// the plug-in.
struct AddedLines {
  size_t begin = 0, end = 0;                 // of both lines, in bytes
  size_t command_begin = 0, command_end = 0; // of the command, without its line end; both are
                                             // `end` if the next line is not such a command
  std::string plugin;
  bool with_file = false; // the file was created with them
};

// Returns the lines that are marked, in the order of the file.
std::vector<AddedLines> added_lines(DebuggerKind debugger, std::string_view text);

// A line by the user that loads the plug-in.
struct OwnLine {
  size_t number = 0; // from 1
  std::string plugin;
};
std::vector<OwnLine> own_lines(DebuggerKind debugger, std::string_view text);

// Returns the text with the command and its mark at its end. `text` is empty if there is no file
// yet.
std::string with_command(const std::optional<std::string> &text, const std::string &command);
// Returns the text as it was before with_command() added the lines, but with an end of the last
// line.
std::string without_lines(std::string_view text, const AddedLines &lines);

} // namespace tally::cli
