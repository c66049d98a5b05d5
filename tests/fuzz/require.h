// Reports a violated requirement of a fuzz target.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace tally {

// Aborts with a message unless `truth` holds. `line` is the caller's line.
inline void require(bool truth, std::string_view what = "a requirement",
                    std::string_view detail = {}, int line = __builtin_LINE()) {
  if (truth)
    return;
  std::cerr << "line " << line << ": violated: " << what << '\n';
  if (!detail.empty())
    std::cerr << detail << '\n';
  std::abort();
}

} // namespace tally
