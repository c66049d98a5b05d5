// What a place is called whose file is known, and whose function is not.
#pragma once

#include <string>
#include <string_view>

#include "support/path.h"

namespace tally {

// "[libc-2.15.so]" by the path of its object, as pprof and FlameGraph show it; "[vdso]" and the
// like have their brackets. Without an object "[unknown]".
inline std::string unnamed_function(std::string_view object) {
  const std::string_view name = base_name(object);
  if (name.empty())
    return "[unknown]";
  if (name.starts_with('[') && name.ends_with(']'))
    return std::string(name);
  return std::string("[").append(name).append("]");
}

} // namespace tally
