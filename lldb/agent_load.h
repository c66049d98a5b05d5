// Loads the agent into a stopped process.
#pragma once

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// Loads the library words[0] and starts it with words[1].
Refused load_agent(Session &session, lldb::SBProcess process, const Words &words);

} // namespace tally_lldb
