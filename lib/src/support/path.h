// Names of files, as text.
#pragma once

#include <string_view>

namespace tally {

// What follows the last slash.
inline std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// Without the endings of packed files.
inline std::string_view unpacked_name(std::string_view path) {
  for (std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed))
      path.remove_suffix(packed.size());
  return path;
}

} // namespace tally
