// Tells which files a hostile program can make unreadable for good: those of a file system that it
// serves itself (FUSE), and whose requests it does not answer. A thread that waits for such an
// answer cannot be ended.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "support/hash.h"

namespace tally {

class FileSystems {
public:
  // Returns whether a path of a process, or a file that it has mapped from there, is in a FUSE file
  // system that does not have the process's executable, too: that one, the debugger opens itself.
  // `device` is 0 if no file is mapped. Touches no file of them. Spends at most a twentieth of the
  // time with looks at the mounts, so that it may miss one that is new.
  bool may_not_answer(pid_t pid, uint64_t device, std::string_view path);

private:
  struct Mounts {
    SeededSet<uint64_t> devices;      // of FUSE
    std::vector<std::string> folders; // where these are mounted
    uint64_t next_ns = 0;             // of CLOCK_MONOTONIC: not read again before
  };

  static void read(pid_t pid, Mounts &to);

  SeededMap<pid_t, Mounts> mounts_;
};

} // namespace tally
