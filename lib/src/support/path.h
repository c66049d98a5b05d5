// File names as text.
#pragma once

#include <climits>
#include <string_view>

namespace tally {

// Returns whether the system may have a file of this name. Longer names are not looked for: a
// search that tries each part of a name takes the square of its size.
inline bool may_be_a_path(std::string_view name) { return name.size() < PATH_MAX; }

// Returns the part after the last slash.
inline std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// Returns the path without the suffixes of compressed files.
inline std::string_view unpacked_name(std::string_view path) {
  for (std::string_view packed : {".gz", ".zst"})
    if (path.ends_with(packed))
      path.remove_suffix(packed.size());
  return path;
}

// Returns whether `path` is `wanted`, or ends with it after a slash.
inline bool ends_with_path(std::string_view path, std::string_view wanted) {
  return path.ends_with(wanted) &&
         (path.size() == wanted.size() || path[path.size() - wanted.size() - 1] == '/');
}

// Returns `path` relative to `root` if `path` is below `root`, otherwise unchanged; an empty `root`
// contains nothing.
inline std::string_view relative_path(std::string_view path, std::string_view root) {
  while (root.size() > 1 && root.ends_with('/'))
    root.remove_suffix(1);
  const std::string_view folder = root == "/" ? "" : root;
  const bool below = !root.empty() && path.starts_with(folder) && path.size() > folder.size() + 1 &&
                     path[folder.size()] == '/';
  return below ? path.substr(folder.size() + 1) : path;
}

} // namespace tally
