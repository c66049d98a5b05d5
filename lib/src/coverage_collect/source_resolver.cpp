#include "coverage_collect/source_resolver.h"

#include <filesystem>

#include <fmt/format.h>

#include "formats/file_rows.h"
#include "support/path.h"

namespace tally {

namespace {

namespace fs = std::filesystem;

// Returns whether the path is in a system directory, which holds headers of the compiler and of the
// distribution.
bool is_of_system(std::string_view path) {
  for (const std::string_view folder : {"/usr/include/", "/usr/lib/", "/usr/local/include/"})
    if (path.starts_with(folder))
      return true;
  return false;
}

bool path_exists(const fs::path &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_file(const fs::path &path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// Returns the path after the map is applied; nothing if the map does not match. "." and "" match
// all relative paths except those that begin with "..".
std::optional<std::string> mapped(const fs::path &path, const PathMap &map) {
  const std::string text = path.lexically_normal().string();
  const std::string from = fs::path(map.from).lexically_normal().string();
  if (from.empty() || from == "." || from == "./") {
    if (text.starts_with('/') || text == ".." || text.starts_with("../"))
      return {};
    return (fs::path(map.to) / text).string();
  }
  if (text == from)
    return map.to;
  const std::string_view rest = relative_path(text, from);
  if (rest.size() == text.size())
    return {};
  return (fs::path(map.to) / rest).string();
}

// Finds a source whose name begins with the build directory. If both the compiler's directory and
// the source are recorded relative to the project, Clang joins them: "build/src/a.c" of an object
// in "…/build" means "…/src/a.c".
std::optional<std::string> without_build_folder(const fs::path &above, std::string_view name) {
  const std::string folder = above.string();
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
    const std::string_view head = name.substr(0, slash);
    if (!ends_with_path(folder, head) || head.size() == folder.size())
      continue;
    std::string path = folder.substr(0, folder.size() - head.size());
    path += name.substr(slash + 1);
    if (is_file(path))
      return path;
  }
  return {};
}

} // namespace

bool SourceResolver::is_plain_directory(const std::string &name, std::string_view folder) {
  const std::string path = (fs::path(folder) / name).string();
  const auto [at, added] = plain_.try_emplace(path, false);
  if (added)
    at->second = tally::is_plain_directory(path);
  return at->second;
}

// Returns whether `name` leads to an existing file. Returns false if neither the name nor the
// directory is absolute, because the result would depend on the object.
bool SourceResolver::leads_to_file(std::string_view name, std::string_view folder) {
  if (!name.starts_with('/') && !folder.starts_with('/'))
    return false;
  const auto [at, added] = is_file_.try_emplace(fmt::format("{}\n{}", folder, name), false);
  if (added)
    at->second = is_file(fs::path(folder) / name);
  return at->second;
}

// Looks for the file relative to each directory above the notes, the nearest first. This finds
// sources if the compiler's directory is not recorded, no longer exists (the build was moved), or
// was replaced in the name (-ffile-prefix-map=FOLDER=.). The last case looks the same as that of a
// source that the build made and removed. There, the file that is found may be another file with
// the same name; path_of() therefore records it in replaced_.
std::optional<std::string> SourceResolver::above_notes(const std::string &name,
                                                       const std::string &folder) {
  std::error_code ignored;
  const std::string normal = fs::path(name).lexically_normal().string();
  for (fs::path above = fs::absolute(notes_, ignored).parent_path();; above = above.parent_path()) {
    // The directory is relative if an option told the compiler to record it instead of its own.
    if (!folder.starts_with('/') && !folder.empty() && is_file(above / folder / name))
      return (above / folder / name).string();
    if (is_file(above / name)) {
      if (folder.starts_with('/') && !path_exists(folder))
        moved_.try_emplace(folder, above.string());
      return (above / name).string();
    }
    if (auto path = without_build_folder(above, normal))
      return path;
    if (above == above.root_path())
      return {};
  }
}

// Returns the path of the source in the file system; the file may not exist.
std::string SourceResolver::path_of(const std::string &name, const std::string &folder) {
  if (!may_be_a_path(name) || !may_be_a_path(folder))
    return name;
  std::string joined = (fs::path(folder) / name).string();
  for (const PathMap &map : rules_.substitutes)
    for (const std::string &recorded : {name, joined})
      if (const auto path = mapped(recorded, map))
        return *path;
  if (leads_to_file(name, folder))
    return joined;
  for (const PathMap &map : rules_.maps)
    for (const std::string &recorded : {name, joined})
      if (const auto path = mapped(recorded, map); path && is_file(*path))
        return *path;
  if (is_absolute(name)) // also on Windows
    return name;
  const std::string in_root = (fs::path(rules_.root) / name).string();
  const bool has_folder = folder.starts_with('/'), keeps_folder = has_folder && path_exists(folder);
  if (!notes_.empty() && !(is_report_ && is_file(in_root)))
    if (const auto path = above_notes(name, folder)) {
      if (keeps_folder && rules_.maps.empty())
        replaced_.try_emplace(joined, *path);
      return *path;
    }
  return keeps_folder || (has_folder && !is_file(in_root)) ? joined : in_root;
}

std::optional<std::string> SourceResolver::find(const std::string &name,
                                                const std::string &folder) {
  std::string path = real_paths_.of(path_of(name, folder));
  const std::string_view shown = relative_path(path, rules_.root);
  const bool of_system = is_of_system(path);
  // If the root is "/", system headers lie below it, too; match them by their absolute path.
  const bool outside = of_system && !is_of_system(std::string(rules_.root) + '/');
  if (rules_.filter.wants(outside && !shown.starts_with('/') ? std::string_view(path) : shown))
    return path;
  if (shown.starts_with('/') && !of_system && !path_exists(path))
    lost_.insert(path);
  left_out_.insert(std::move(path));
  return {};
}

std::optional<std::string> SourceResolver::outside(const std::string &name) {
  std::string path = real_paths_.of(path_of(name, ""));
  if (!relative_path(path, rules_.root).starts_with('/') || is_of_system(path) ||
      rules_.filter.wants(path))
    return {};
  return path;
}

const std::optional<std::string> &SourceResolver::resolve(std::string_view name,
                                                          std::string_view folder) {
  if (!may_be_a_path(folder))
    folder = {};
  std::string key = fmt::format("{}\n{}", folder, name);
  // The result of a search above the notes depends on their directory, so add that to the key.
  if (!name.starts_with('/') && !leads_to_file(name, folder))
    key += fmt::format("\n{}", std::string_view(notes_).substr(0, notes_.rfind('/')));
  const auto [at, added] = resolved_.try_emplace(std::move(key));
  if (added)
    at->second = find(std::string(name), std::string(folder));
  return at->second;
}

} // namespace tally
