// Writes the help of commands from their table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "session/command_table.h"

namespace tally {

// Returns "profile dump FILE [--parts]" or, for a shell, "tally convert [OPTIONS] IN...".
std::string command_usage(const CommandTable &table, const CommandSpec &command);
// Returns the complete help of a command, with an example.
std::string command_help(const CommandTable &table, const CommandSpec &command);
// Returns a line for each command: `begin`, its name in a column of `width`, and its summary.
std::string command_list(const CommandTable &table, std::string_view begin, size_t width);
// Returns the lines of an option's or setting's summary as one line.
std::string one_line(std::string_view summary);
// Returns the lines that explain options ("--limit N  …") or, with `are_settings`, settings.
std::string option_lines(std::span<const OptionSpec> options, bool are_settings = false);

} // namespace tally
