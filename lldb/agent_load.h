// The agent, loaded into a process that stands.
#pragma once

#include <string>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// The library words[0], started with words[1]; "" or why not.
std::string load_agent(Session &session, lldb::SBProcess process, const Words &words);

} // namespace tally_lldb
