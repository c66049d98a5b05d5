// `profile` and its sub-commands; names and help come from the library.
#pragma once

#include <memory>

#include "front.h"

namespace tally_lldb {

// The commands own the front: it ends with the debugger that they belong to.
void register_commands(lldb::SBDebugger &debugger, const Library &library,
                       const std::shared_ptr<Front> &front);

} // namespace tally_lldb
