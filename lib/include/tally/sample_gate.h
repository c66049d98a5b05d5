// Which samples count: those taken while their thread, or the whole process, is inside of a region.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include <tally/export.h>
#include <tally/stop_places.h>

namespace tally {

// Switched while the process stands, so a switch is known before any sample that it decides on; the
// reader asks later, by the time of each sample. Any thread; times by CLOCK_MONOTONIC.
class TALLY_API SampleGate {
public:
  // In place of a thread: the switch is the whole process's.
  static constexpr pid_t all_threads = 0;

  // Closed to begin with. What is open already stays open, and closed closed.
  void open(pid_t tid, uint64_t at_ns);
  void close(pid_t tid, uint64_t at_ns);
  // The process became another program: nobody is inside any more.
  void close_all(uint64_t at_ns);
  bool is_open(pid_t tid) const;

  // Where the debugger stops the process for a switch, and goes on from. close_all() forgets them.
  StopPlaces &stops() { return stops_; }
  const StopPlaces &stops() const { return stops_; }

  // Whether the thread was inside at that time. Of one thread it is asked in about the order of the
  // times: what was a second before the newest may be forgotten.
  bool holds(pid_t tid, uint64_t at_ns);

  size_t memory_bytes() const;

private:
  struct Track {
    std::vector<uint64_t> switches; // ascending; to `open_before`'s opposite, and so on
    bool open_before = false;       // the first of them
    bool is_open() const { return open_before != (switches.size() % 2 != 0); }
    bool holds(uint64_t at_ns) const;
    void turn(uint64_t at_ns);
    void forget_before(uint64_t ns);
  };
  void turn(pid_t tid, uint64_t at_ns, bool open);
  void sweep(uint64_t now_ns);

  StopPlaces stops_;
  mutable std::mutex mutex_;
  std::unordered_map<pid_t, Track> tracks_;
};

} // namespace tally
