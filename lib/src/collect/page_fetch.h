// Brings pages of a stack into memory. The kernel ends a stack dump at a page that is not there,
// such as one of a large array that the program has not used yet.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace tally {

class PageFetch {
public:
  // Reads the pages of a range of a process's memory, so that later stack dumps go on behind them.
  // The memory must be the process's own: the program would notice it if a file or shared memory
  // had to provide a page. Does nothing if it has just done so: it takes at most a sixth of a
  // processor, and a hundredth if nothing can be read.
  void fetch(pid_t pid, uint64_t address, size_t size);

private:
  uint64_t next_ns_ = 0; // of CLOCK_MONOTONIC: not before
};

} // namespace tally
