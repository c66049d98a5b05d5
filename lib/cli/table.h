// The table of the commands of `tally`, with their arguments, options and help.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "session/command_table.h"

namespace tally::cli {

// What the help of the program says besides its commands.
struct ProgramHelp {
  std::string_view description;
  std::span<const OptionSpec> options;
  std::string_view example;
};

const CommandTable &tally_table();
const ProgramHelp &tally_program();
std::string tally_help(); // returns the help of the program, with the list of commands

} // namespace tally::cli
