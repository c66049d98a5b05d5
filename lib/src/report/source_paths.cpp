#include <sys/stat.h>

#include "report/annotate.h"

namespace tally {

namespace {
bool is_file(const std::string &path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}
} // namespace

std::optional<std::string> SourcePaths::find(std::string_view path) const {
  if (path.empty() || path.find('\0') != path.npos)
    return {};
  for (const auto &[from, to] : replaced)
    if (path.starts_with(from))
      if (std::string moved = to + std::string(path.substr(from.size())); is_file(moved))
        return moved;
  if (std::string same(path); is_file(same))
    return same;
  for (const std::string &folder : folders)
    // For "/build/src/a.c" try FOLDER/build/src/a.c, FOLDER/src/a.c and FOLDER/a.c.
    for (std::string_view rest = path;;) {
      std::string there = folder;
      if (!there.ends_with('/'))
        there += '/';
      there += rest.substr(rest.starts_with('/'));
      if (is_file(there))
        return there;
      const size_t slash = rest.find('/', 1);
      if (slash == rest.npos)
        break;
      rest.remove_prefix(slash);
    }
  return {};
}

} // namespace tally
