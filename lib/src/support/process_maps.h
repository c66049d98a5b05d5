// The mappings of a process, as /proc/PID/maps lists them (proc_pid_maps(5)).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace tally {

struct ProcessMap {
  uint64_t start = 0; // the addresses [start, limit)
  uint64_t limit = 0;
  bool is_readable = false;
  bool is_executable = false;
  bool is_private = false;
  uint64_t file_offset = 0;
  uint64_t device = 0;
  uint64_t inode = 0;    // 0 for memory without a file
  std::string_view path; // as the line has it; empty for memory without a name
};

// Parses a line without its line end. Returns nothing if it is malformed or the range is empty.
std::optional<ProcessMap> parse_process_map(std::string_view line);

// Calls `use` with each mapping of a process, which may be 0 for this one, by ascending address
// until it returns false. The path is valid during the call. Lines that cannot be parsed are
// skipped.
void each_process_map(pid_t pid, const std::function<bool(const ProcessMap &)> &use);

} // namespace tally
