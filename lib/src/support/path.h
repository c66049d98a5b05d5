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

// As seen from `root`, where it lies below it; "" is no root.
inline std::string_view relative_path(std::string_view path, std::string_view root) {
  while (root.size() > 1 && root.ends_with('/'))
    root.remove_suffix(1);
  const std::string_view folder = root == "/" ? "" : root;
  const bool below = !root.empty() && path.starts_with(folder) && path.size() > folder.size() + 1 &&
                     path[folder.size()] == '/';
  return below ? path.substr(folder.size() + 1) : path;
}

} // namespace tally
