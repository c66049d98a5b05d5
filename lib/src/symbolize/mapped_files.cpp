#include "symbolize/mapped_files.h"

#include <cinttypes>
#include <climits>
#include <cstdio>
#include <memory>

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/clock.h"

namespace tally::symbolize {

void MappedFiles::read(pid_t pid, Maps &to) {
  const uint64_t begun = now_ns();
  to.ranges.clear();
  std::unique_ptr<FILE, int (*)(FILE *)> maps(
      std::fopen(fmt::format("/proc/{}/maps", pid).c_str(), "re"), std::fclose);
  char line[PATH_MAX + 256];
  while (maps && std::fgets(line, sizeof line, maps.get())) {
    uint64_t start = 0, end = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %*x %x:%x %" SCNu64, &start, &end,
                    &major_number, &minor_number, &inode) == 5 &&
        inode != 0)
      to.ranges.try_emplace({makedev(major_number, minor_number), inode},
                            fmt::format("{:x}-{:x}", start, end));
  }
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
