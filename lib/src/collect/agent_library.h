// Where the agent's library is.
#pragma once

#include <string>

#include <tally/result.h>

namespace tally {

inline constexpr const char *agent_library_name = "libtally-agent.so";

// The absolute path of libtally-agent.so; `given` where it is not empty. An error lists where it
// was looked for, or says why the dynamic linker could not name it.
Result<std::string> find_agent_library(const std::string &given);

} // namespace tally
