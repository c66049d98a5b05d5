// Leads to the files that processes have mapped, also to files that were deleted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <sys/types.h>

#include "support/file_systems.h"
#include "support/hash.h"

namespace tally::symbolize {

// A process may map thousands of deleted files: /proc/PID/maps is read once for all of them.
class MappedFiles {
public:
  // Returns the path of the mapping of a file in /proc/PID/map_files, or an empty text if there is
  // none. Using the path requires privileges (proc(5)). If the file is not in what was read before,
  // reads again, but spends at most a twentieth of the time with that.
  std::string path_of(pid_t pid, uint64_t device, uint64_t inode);
  FileSystems &file_systems() { return file_systems_; }

private:
  struct Maps {
    SeededMap<std::pair<uint64_t, uint64_t>, std::string> ranges; // by device and inode
    uint64_t next_ns = 0; // of CLOCK_MONOTONIC: not read again before
  };

  static void read(pid_t pid, Maps &to);

  SeededMap<pid_t, Maps> maps_;
  FileSystems file_systems_;
};

} // namespace tally::symbolize
