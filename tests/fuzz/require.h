// How a fuzz target says that a promise is broken.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>

namespace tally {

// `line` is the caller's.
inline void require(bool truth, std::string_view what = "what is required",
                    std::string_view detail = {}, int line = __builtin_LINE()) {
  if (truth)
    return;
  std::cerr << "line " << line << ": violated: " << what << '\n';
  if (!detail.empty())
    std::cerr << detail << '\n';
  std::abort();
}

} // namespace tally
