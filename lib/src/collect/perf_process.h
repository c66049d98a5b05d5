// Detects the end of a process that perf samples, and reads its CPU time, through a pidfd and
// /proc.
#pragma once

#include <algorithm>
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
  bool is_traced() const { return traced_; } // at open()
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

// The CPU time of the process since the last clear(). `count` is the CPU time in ns that the perf
// clocks counted since then, if there are any.
class CpuTime {
public:
  // Measures the CPU time of the process itself from now on, because its events are no clocks.
  void measure_process(pid_t pid);
  // Measures how much of the CPU time is spent in the kernel. Call this function if the clocks do
  // not sample the kernel.
  void measure_kernel(pid_t pid);
  // Measures the CPU time of the process and of the children that it waits for, as the kernel
  // accounts for it: with the work of fork and exit, for which their clocks do not run.
  void measure_family(pid_t pid);
  // Reads the times that were asked for. Keeps the last values once the process is gone.
  void follow();
  uint64_t ns(uint64_t count) const { return pid_ != 0 ? now_ns_ - cleared_ns_ : count; }
  uint64_t unsampled_ns(uint64_t count) const;
  uint64_t family_ns() const { // 0 if unknown
    return family_.pid == 0 ? 0 : family_.now_ns - std::min(family_.now_ns, family_.cleared_ns);
  }
  void clear();
  void close() {
    stat_fd_.reset();
    family_.is_gone = true;
  }

private:
  struct Family {
    pid_t pid = 0; // 0 if it is not measured
    bool is_gone = false, is_ours = false;
    uint64_t now_ns = 0, cleared_ns = 0, of_waited_ns = 0;
    uint64_t reaped_ns = 0; // of our own children that had ended when the process was last seen
  };
  void open_stat(pid_t pid);
  void begin_family(pid_t pid);
  void follow_family(const std::optional<CpuTimes> &times);

  UniqueFd stat_fd_;
  bool measures_kernel_ = false;
  Family family_;
  std::optional<CpuTimes> first_;        // at the beginning
  CpuTimes last_;                        // as last read
  pid_t pid_ = 0;                        // 0 unless measure_process() was called
  uint64_t now_ns_ = 0, cleared_ns_ = 0; // CPU time of process pid_
};

} // namespace tally
