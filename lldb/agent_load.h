// Loads the agent into a stopped process.
#pragma once

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// Loads the library, and starts it with the argument.
Answer load_agent(lldb::SBProcess process, const char *library, const std::string &argument);

} // namespace tally_lldb
