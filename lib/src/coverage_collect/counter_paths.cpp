#include "coverage_collect/counter_paths.h"

#include <algorithm>
#include <memory>

#include <dirent.h>
#include <sys/stat.h>

#include "support/sort.h"

namespace tally {

namespace {

struct Close {
  void operator()(DIR *folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, Close>;

bool is_folder(const std::string &path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}
bool is_file(const std::string &path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

} // namespace

Result<std::vector<std::string>>
files_below(const std::string &folder, const std::function<bool(std::string_view name)> &wanted,
            Diagnostics &diagnostics) {
  std::vector<std::string> files, folders{folder};
  while (!folders.empty()) {
    const std::string path = std::move(folders.back());
    folders.pop_back();
    const Folder open(::opendir(path.c_str()));
    const auto refused = fail_errno(errno, "cannot read the directory", path);
    if (!open && path == folder)
      return refused;
    if (!open) {
      diagnostics.add(Severity::warning, refused.value().message, path);
      continue;
    }
    const std::string before = path.ends_with('/') ? path : path + '/';
    // Names that begin with a dot are included: if Meson compiles "../src/a.cpp", the counters are
    // in ".._src_a.cpp.gcda".
    while (const dirent *entry = ::readdir(open.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..")
        continue;
      std::string inner = before + std::string(name);
      if (entry->d_type == DT_DIR || (entry->d_type == DT_UNKNOWN && is_folder(inner)))
        folders.push_back(std::move(inner));
      else if (wanted(name) && (entry->d_type == DT_REG || is_file(inner)))
        files.push_back(std::move(inner));
    }
  }
  sort_stably(files);
  return files;
}

bool is_counters_name(std::string_view name) {
  return name.ends_with(".gcda") || name.ends_with(".da");
}
bool is_notes_name(std::string_view name) {
  return name.ends_with(".gcno") || name.ends_with(".bbg");
}

} // namespace tally
