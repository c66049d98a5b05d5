// Decides which samples count: those taken while their thread, or the whole process, is inside a
// region.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "collect/stop_addresses.h"

namespace tally {

// The front end opens and closes the filter while the process is stopped, so that a switch is known
// before any sample that it affects. The sampler's reader asks later, with the time of each sample.
// All functions may be called from any thread; times are in ns of CLOCK_MONOTONIC.
class RegionFilter {
public:
  // Stands for the whole process in place of a thread.
  static constexpr pid_t all_threads = 0;

  // Opens or closes the filter for a thread. It is closed at first. To open an open filter or to
  // close a closed one has no effect.
  void open(pid_t tid, uint64_t at_ns);
  void close(pid_t tid, uint64_t at_ns);
  // Closes the filter for all threads, because the process has executed another program.
  void close_all(uint64_t at_ns);
  bool is_open(pid_t tid) const;

  // Returns the addresses where the debugger stops the process for a switch and resumes it.
  // close_all() clears them.
  StopAddresses &stops() { return stops_; }
  const StopAddresses &stops() const { return stops_; }

  // Returns whether the thread, or the whole process, was inside the region at that time. The times
  // of one thread must be roughly ascending: switches more than a second before the newest time may
  // be forgotten.
  bool holds(pid_t tid, uint64_t at_ns);

  size_t memory_bytes() const;

private:
  struct Track {
    std::vector<uint64_t> switches; // ascending times; each one inverts the state
    bool open_before = false;       // the state before the first switch
    bool is_open() const { return open_before != (switches.size() % 2 != 0); }
    bool holds(uint64_t at_ns) const;
    void turn(uint64_t at_ns);
    void forget_before(uint64_t ns);
  };
  void turn(pid_t tid, uint64_t at_ns, bool open);
  void sweep(uint64_t now_ns);

  StopAddresses stops_;
  mutable std::mutex mutex_;
  std::unordered_map<pid_t, Track> tracks_;
};

} // namespace tally
