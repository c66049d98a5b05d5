// The table of the commands of `tally`, with their arguments, options and help.
#pragma once

#include <string>

#include "session/command_table.h"

namespace tally::cli {

const CommandTable &tally_table();
std::string tally_help(); // returns the help of the program, with the list of commands

} // namespace tally::cli
