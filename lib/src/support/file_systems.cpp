#include "support/file_systems.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <fstream>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/clock.h"
#include "support/path.h"
#include "support/process_maps.h"

namespace tally {

namespace {

std::string folder_of(pid_t pid) { return pid == 0 ? "/proc/self" : fmt::format("/proc/{}", pid); }

// Returns the device of the file that the process executes, as /proc/PID/maps has it; 0 if it is
// not mapped.
uint64_t device_of_executable(pid_t pid) {
  std::array<char, PATH_MAX> bytes{};
  const ssize_t size = ::readlink((folder_of(pid) + "/exe").c_str(), bytes.data(), bytes.size());
  const std::string_view program(bytes.data(), size > 0 ? static_cast<size_t>(size) : 0);
  uint64_t device = 0;
  if (program.empty())
    return device;
  each_process_map(pid, [&](const ProcessMap &map) {
    if (map.path == program)
      device = map.device;
    return device == 0;
  });
  return device;
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

std::vector<FileSystems::Mount> FileSystems::parse(std::istream &mountinfo) {
  std::vector<Mount> out;
  for (std::string line; std::getline(mountinfo, line);) {
    unsigned major_number = 0, minor_number = 0;
    int folder = 0;
    const size_t dash = line.find(" - ");
    if (dash == line.npos || std::sscanf(line.c_str(), "%*d %*d %u:%u %*s %n", &major_number,
                                         &minor_number, &folder) != 2)
      continue;
    const auto begin = static_cast<size_t>(folder);
    const std::string_view all = line, type = all.substr(dash + 3);
    out.push_back({makedev(major_number, minor_number),
                   without_escapes(all.substr(begin, all.find(' ', begin) - begin)),
                   type.starts_with("fuse ") || type.starts_with("fuse.")});
  }
  return out;
}

void FileSystems::read(pid_t pid, Mounts &to) {
  const uint64_t begun = now_ns();
  if (std::ifstream mountinfo(folder_of(pid) + "/mountinfo"); mountinfo) {
    to.all = parse(mountinfo);
    if (std::ranges::any_of(to.all, &Mount::is_fuse)) {
      to.executable = device_of_executable(pid);
      std::vector<uint64_t> trusted{to.executable};
      for (const char *const own : {"/", ".", "/proc/self/exe"})
        if (struct stat here{}; ::stat(own, &here) == 0)
          trusted.push_back(here.st_dev);
      for (Mount &mount : to.all)
        mount.is_fuse &= std::ranges::find(trusted, mount.device) == trusted.end();
    }
  }
  const uint64_t ended = now_ns();
  to.next_ns = ended + 20 * (ended - begun);
}

const FileSystems::Mounts &FileSystems::of(pid_t pid) {
  Mounts &mounts = mounts_[pid];
  if (now_ns() >= mounts.next_ns)
    read(pid, mounts);
  return mounts;
}

bool FileSystems::may_not_answer(std::span<const Mount> mounts, uint64_t device,
                                 std::string_view path, uint64_t trusted) {
  const Mount *at = nullptr; // the mount that the path leads to: a later one hides earlier ones
  for (const Mount &mount : mounts) {
    if (mount.is_fuse && mount.device == device && device != trusted)
      return true;
    const bool is_below = mount.folder == "/" || path == mount.folder ||
                          relative_path(path, mount.folder).size() < path.size();
    if (is_below && (!at || mount.folder.size() >= at->folder.size()))
      at = &mount;
  }
  return at && at->is_fuse && at->device != trusted;
}

bool FileSystems::may_not_answer(pid_t pid, uint64_t device, std::string_view path) {
  if (pid <= 0)
    return false;
  const Mounts &theirs = of(pid);
  const uint64_t trusted = theirs.executable;
  return may_not_answer(theirs.all, device, path, trusted) ||
         may_not_answer(of(0).all, device, path, trusted); // paths are also looked for here
}

bool FileSystems::may_not_answer_here(std::string_view path) {
  return may_not_answer(of(0).all, 0, path);
}

} // namespace tally
