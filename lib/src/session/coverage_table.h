#pragma once

#include <string>

#include "session/command_table.h"

namespace tally {

const CommandTable &coverage_table(); // the commands of `coverage`
std::string coverage_help();          // the help of `coverage` itself

} // namespace tally
