// Resolves paths to real paths, without symbolic links.
#pragma once

#include <filesystem>
#include <string>

#include <sys/stat.h>

#include "support/hash.h"

namespace tally {

// Returns whether `folder` exists and is not a symbolic link, so that "FOLDER/.." may be removed
// from a path.
inline bool is_plain_directory(const std::string &folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && !S_ISLNK(info.st_mode);
}

// Resolves the part of a path that exists; the rest is normalized as text. Each directory is
// resolved only once, because it holds many files.
class RealPaths {
public:
  std::string of(const std::filesystem::path &path) {
    const std::string name = path.filename().string();
    if (name.empty() || name == "." || name == "..")
      return real(path);
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const auto [at, added] = folders_.try_emplace(folder.string());
    if (added)
      at->second = real(folder);
    std::string out = (at->second == "/" ? "" : at->second) + '/' + name;
    struct stat info {};
    return ::lstat(out.c_str(), &info) == 0 && S_ISLNK(info.st_mode) ? real(out) : out;
  }

private:
  static std::string real(const std::filesystem::path &path) {
    std::error_code fault;
    const std::filesystem::path out = std::filesystem::weakly_canonical(path, fault);
    std::string normal = (fault ? path : out).lexically_normal().string(); // "a/." becomes "a/"
    while (normal.size() > 1 && normal.ends_with('/'))
      normal.pop_back();
    return normal;
  }

  SeededMap<std::string, std::string> folders_; // from the given path to the real one
};

} // namespace tally
