#include "support/file_systems.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/clock.h"
#include "support/path.h"

namespace tally {

namespace {

// Returns the device of the file that the process executes, as /proc/PID/maps has it; 0 if it is
// not mapped.
uint64_t device_of_executable(pid_t pid) {
  std::array<char, PATH_MAX> bytes{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), bytes.data(), bytes.size());
  const std::string_view program(bytes.data(), size > 0 ? static_cast<size_t>(size) : 0);
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; !program.empty() && std::getline(maps, line);) {
    unsigned major_number = 0, minor_number = 0;
    if (line.ends_with(program) &&
        std::sscanf(line.c_str(), "%*s %*s %*s %x:%x", &major_number, &minor_number) == 2)
      return makedev(major_number, minor_number);
  }
  return 0;
}

// The kernel writes blanks and backslashes as octal numbers of three digits.
std::string without_escapes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned c = 0;
    if (text[i] == '\\' &&
        std::sscanf(std::string(text.substr(i + 1, 3)).c_str(), "%3o", &c) == 1) {
      out += static_cast<char>(c);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

} // namespace

// proc_pid_mountinfo(5): the device is the third field, the folder the fifth, and the type is
// behind " - ".
void FileSystems::read(pid_t pid, Mounts &to) {
  const uint64_t begun = now_ns();
  to = {};
  std::optional<uint64_t> of_executable;
  std::ifstream mounts(fmt::format("/proc/{}/mountinfo", pid));
  for (std::string line; std::getline(mounts, line);) {
    unsigned major_number = 0, minor_number = 0;
    int folder = 0;
    const size_t dash = line.find(" - fuse");
    if (dash == line.npos || line.compare(dash + 7, 3, "blk") == 0 ||
        std::sscanf(line.c_str(), "%*d %*d %u:%u %*s %n", &major_number, &minor_number, &folder) !=
            2)
      continue;
    const uint64_t device = makedev(major_number, minor_number);
    if (!of_executable)
      of_executable = device_of_executable(pid);
    if (device == *of_executable)
      continue;
    to.devices.insert(device);
    const auto begin = static_cast<size_t>(folder);
    to.folders.push_back(
        without_escapes(std::string_view(line).substr(begin, line.find(' ', begin) - begin)));
  }
  const uint64_t ended = now_ns();
  to.next_ns = ended + 20 * (ended - begun);
}

bool FileSystems::may_not_answer(pid_t pid, uint64_t device, std::string_view path) {
  if (pid <= 0)
    return false;
  Mounts &mounts = mounts_[pid];
  if (now_ns() >= mounts.next_ns)
    read(pid, mounts);
  return mounts.devices.contains(device) ||
         std::ranges::any_of(mounts.folders, [&](const std::string &folder) {
           return path == folder || relative_path(path, folder).size() < path.size();
         });
}

} // namespace tally
