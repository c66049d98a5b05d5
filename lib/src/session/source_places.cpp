#include "session/source_places.h"

#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

#include "support/path.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

// Headers of the compiler and of the distribution.
bool is_of_system(std::string_view path) {
  for (const std::string_view folder : {"/usr/include/", "/usr/lib/", "/usr/local/include/"})
    if (path.starts_with(folder))
      return true;
  return false;
}

} // namespace

bool SourcePlaces::is_plain_folder(const std::string &name, std::string_view folder) {
  const std::string path = (fs::path(folder) / name).string();
  const auto [at, added] = plain_.try_emplace(path, false);
  if (added)
    at->second = tally::is_plain_folder(path);
  return at->second;
}

bool SourcePlaces::is_there(std::string_view folder) {
  const auto [at, added] = is_there_.try_emplace(std::string(folder), false);
  if (added)
    at->second = ::access(at->first.c_str(), F_OK) == 0;
  return at->second;
}

// Where the compiler's folder is not told, or has gone (the build was moved): the nearest folder
// above the notes that the name leads from to a file.
std::string SourcePlaces::folder_of(std::string_view name, std::string_view folder) {
  if (name.starts_with('/'))
    return {};
  if (!folder.empty() && is_there(folder))
    return std::string(folder);
  std::error_code ignored;
  for (fs::path above = fs::absolute(notes_, ignored).parent_path();; above = above.parent_path()) {
    if (fs::is_regular_file(above / name, ignored)) {
      if (!folder.empty())
        moved_.try_emplace(std::string(folder), above.string());
      return above.string();
    }
    if (above == above.root_path())
      break;
  }
  return std::string(folder.empty() ? root_ : folder);
}

std::optional<std::string> SourcePlaces::find(std::string_view name, std::string_view folder) {
  std::string path = real_paths_.of(fs::path(folder_of(name, folder)) / name);
  const std::string_view shown = relative_path(path, root_);
  // Below the root "/" lies everything, also what nobody means to test.
  const bool of_system = is_of_system(path) && !is_of_system(std::string(root_) + '/');
  if (filter_.wants(of_system && !shown.starts_with('/') ? std::string_view(path) : shown))
    return path;
  left_out_.insert(std::move(path));
  return {};
}

const std::optional<std::string> &SourcePlaces::place(std::string_view name,
                                                      std::string_view folder) {
  // Where the folder is not there, the place depends on the object, too.
  std::string key = fmt::format("{}\n{}", folder, name);
  if (!name.starts_with('/') && (folder.empty() || !is_there(folder)))
    key += fmt::format("\n{}", std::string_view(notes_).substr(0, notes_.rfind('/')));
  const auto [at, added] = places_.try_emplace(std::move(key));
  if (added)
    at->second = find(name, folder);
  return at->second;
}

} // namespace tally
