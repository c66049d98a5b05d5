// Names code whose object is known, but whose function is not.
#pragma once

#include <string>
#include <string_view>

#include "support/path.h"

namespace tally {

// Returns the name of the object in brackets, such as "[libc-2.15.so]", as pprof and FlameGraph do.
// Names such as "[vdso]" already have brackets. If `object` is empty, returns "[unknown]".
inline std::string unnamed_function(std::string_view object) {
  const std::string_view name = base_name(object);
  if (name.empty())
    return "[unknown]";
  if (name.starts_with('[') && name.ends_with(']'))
    return std::string(name);
  return std::string("[").append(name).append("]");
}

} // namespace tally
