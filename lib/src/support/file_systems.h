// Tells which files a hostile program can make unreadable for good: those of a file system that it
// serves itself (FUSE), and whose requests it does not answer. A thread that waits for such an
// answer cannot be ended.
#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "support/hash.h"

namespace tally {

class FileSystems {
public:
  struct Mount {
    uint64_t device = 0;
    std::string folder;
    bool is_fuse = false;
  };

  // Returns whether a path of a process, or the file that it has mapped from there, is in a FUSE
  // file system. That of the process's executable and those of this process's root, current
  // directory and executable do not count, because the debugger uses them itself. `device` is 0 if
  // no file is mapped. Only the lists of mounts are read, and no file of such a system is touched.
  // This takes at most a twentieth of the time: a mount that is new may be missed, and a symbolic
  // link into such a system is not seen.
  bool may_not_answer(pid_t pid, uint64_t device, std::string_view path);
  // Returns the same about a path as this process has it.
  bool may_not_answer_here(std::string_view path);

  // Parses the text of proc_pid_mountinfo(5): the device is the third field, the folder the fifth,
  // and the type is behind " - ".
  static std::vector<Mount> parse(std::istream &mountinfo);
  // `trusted` is the device of a system that does answer; 0 if there is none.
  static bool may_not_answer(std::span<const Mount> mounts, uint64_t device, std::string_view path,
                             uint64_t trusted = 0);

private:
  struct Mounts {
    std::vector<Mount> all;  // is_fuse only where the system may not answer
    uint64_t executable = 0; // the device of the process's executable
    uint64_t next_ns = 0;    // of CLOCK_MONOTONIC: not read again before
  };

  const Mounts &of(pid_t pid);
  static void read(pid_t pid, Mounts &to);

  SeededMap<pid_t, Mounts> mounts_; // 0: those of this process
};

} // namespace tally
