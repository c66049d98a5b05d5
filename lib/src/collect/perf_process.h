// Detects the end of a process that perf samples, and reads its CPU time, through a pidfd and
// /proc.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

#include "collect/proc_info.h"
#include "support/unique_fd.h"

namespace tally {

// Notices when the process ends, or when the debugger that traced it at the beginning detaches.
class ProcessEnd {
public:
  void open(pid_t pid);
  int pidfd() const { return pidfd_.get(); } // readable when the process is gone; or -1
  void note_gone() { gone_ = true; }
  bool has_come();
  void close() {
    pidfd_.reset();
    status_fd_.reset();
  }

private:
  UniqueFd pidfd_, status_fd_;
  bool traced_ = false;
  bool gone_ = false; // according to the pidfd
  uint64_t checked_ns_ = 0;
};

// The CPU time of the process since the last clear(). `clocks_ns` is what the clocks measured.
class CpuTime {
public:
  // Opens the file from which follow() reads. Call this function if the clocks do not sample the
  // kernel.
  void measure_kernel(pid_t pid);
  // Reads the user and the system time. Does nothing before measure_kernel(), and keeps the last
  // values once the process is gone.
  void follow();
  uint64_t ns(uint64_t clocks_ns) const { return clocks_ns - cleared_ns_; }
  uint64_t unsampled_ns(uint64_t clocks_ns) const;
  void clear(uint64_t clocks_ns);
  void close() { stat_fd_.reset(); }

private:
  UniqueFd stat_fd_;
  std::optional<CpuTimes> first_; // at the beginning
  CpuTimes last_;                 // as last read
  uint64_t cleared_ns_ = 0;       // the clocks themselves are not reset
};

} // namespace tally
