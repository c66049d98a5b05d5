// `profile`, `coverage` and their subcommands. The library supplies their names and help.
#pragma once

#include <memory>

#include "front.h"

namespace tally_lldb {

// Registers the commands. The commands own the front end, so that the front end ends with the
// debugger.
void register_commands(lldb::SBDebugger &debugger, const std::shared_ptr<Front> &front);

} // namespace tally_lldb
