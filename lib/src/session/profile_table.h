// The table of the `profile` commands.
#pragma once

#include <string>

#include "session/command_table.h"

namespace tally {

const CommandTable &profile_table();
std::string profile_help(); // returns the list of commands

} // namespace tally
