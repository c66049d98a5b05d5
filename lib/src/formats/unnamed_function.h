// Names code whose object is known, but whose function is not.
#pragma once

#include <string>
#include <string_view>

#include "support/path.h"

namespace tally {

// Returns "[libc-2.15.so]" for the path of an object, as pprof and FlameGraph show it; names such
// as "[vdso]" already have brackets. Without an object, returns "[unknown]".
inline std::string unnamed_function(std::string_view object) {
  const std::string_view name = base_name(object);
  if (name.empty())
    return "[unknown]";
  if (name.starts_with('[') && name.ends_with(']'))
    return std::string(name);
  return std::string("[").append(name).append("]");
}

} // namespace tally
