#include "symbolize/mapped_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/clock.h"
#include "support/process_maps.h"

namespace tally::symbolize {

void MappedFiles::read(pid_t pid, Maps &to) {
  const uint64_t begun = now_ns();
  to.ranges.clear();
  each_process_map(pid, [&](const ProcessMap &map) {
    if (map.inode != 0)
      to.ranges.try_emplace({map.device, map.inode},
                            fmt::format("{:x}-{:x}", map.start, map.limit));
    return true;
  });
  const uint64_t ended = now_ns();
  to.next_ns = ended + 20 * (ended - begun);
}

std::string MappedFiles::path_of(pid_t pid, uint64_t device, uint64_t inode) {
  const auto [of_pid, added] = maps_.try_emplace(pid);
  Maps &maps = of_pid->second;
  const auto known = [&]() -> std::string {
    const auto at = maps.ranges.find({device, inode});
    if (at == maps.ranges.end())
      return {};
    std::string path = fmt::format("/proc/{}/map_files/{}", pid, at->second);
    return ::faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? path : "";
  };
  std::string path = known();
  if (path.empty() && (added || now_ns() >= maps.next_ns)) {
    read(pid, maps);
    path = known();
  }
  return path;
}

} // namespace tally::symbolize
