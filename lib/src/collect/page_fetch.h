// Brings pages of a stack into memory. The kernel ends a stack dump at a page that is not there,
// such as one of a large array that the program has not used yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include <sys/types.h>

namespace tally {

class PageFetch {
public:
  // Reads the pages of a range of a process's memory, which a sample of the time `at_ns` (of
  // CLOCK_MONOTONIC) lacks, so that later stack dumps go on behind them. The memory must be the
  // process's own: the program would notice it if a file or shared memory had to provide a page.
  // Does nothing if the range has been read since the sample. In the long run it takes at most a
  // sixth of a processor, and a hundredth if nothing can be read.
  void fetch(pid_t pid, uint64_t address, size_t size, uint64_t at_ns);

private:
  static constexpr size_t most_ranges = 4096;
  // The next stack of the thread may be deeper and lack pages there.
  static constexpr uint64_t below_bytes = 64 << 10;
  // The samples of many threads arrive together, each with other pages.
  static constexpr uint64_t ahead_ns = 50'000'000;

  // When the range at an address was read last.
  std::map<std::pair<pid_t, uint64_t>, uint64_t> read_ns_;
  // From this time on, the work so far takes no more than the allowed share of a processor.
  uint64_t paid_ns_ = 0;
};

} // namespace tally
