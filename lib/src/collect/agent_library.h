// Finds the agent's library.
#pragma once

#include <string>

#include "support/result.h"

namespace tally {

inline constexpr const char *agent_library_name = "libtally-agent.so";

// Returns the absolute path of libtally-agent.so: `given` if it is not empty, otherwise
// $TALLY_AGENT_LIBRARY, otherwise a path beside this library. An error lists the paths that were
// tried, or says why LD_PRELOAD cannot name the path.
Result<std::string> find_agent_library(const std::string &given);

} // namespace tally
