#include "collect/region_filter.h"

#include <algorithm>
#include <cstddef>

namespace tally {

namespace {

// The samples of one thread come in order, except for the differences between the clocks of
// processors.
constexpr uint64_t disorder_ns = 1'000'000'000;
// No reader is later than this. Older switches may be forgotten, so that the record of a thread
// about which the reader never asks does not grow.
constexpr uint64_t longest_delay_ns = 10'000'000'000;
constexpr size_t many_switches = 8192;
constexpr size_t many_threads = 1024;

} // namespace

bool RegionFilter::Track::holds(uint64_t at_ns) const {
  const auto after = std::upper_bound(switches.begin(), switches.end(), at_ns);
  return open_before != ((after - switches.begin()) % 2 != 0);
}

// The clock of another processor may be slightly behind, so times are kept ascending.
void RegionFilter::Track::turn(uint64_t at_ns) {
  switches.push_back(std::max(at_ns, switches.empty() ? 0 : switches.back()));
}

void RegionFilter::Track::forget_before(uint64_t ns) {
  const auto first = std::lower_bound(switches.begin(), switches.end(), ns);
  open_before = open_before != ((first - switches.begin()) % 2 != 0);
  switches.erase(switches.begin(), first);
}

void RegionFilter::turn(pid_t tid, uint64_t at_ns, bool open) {
  const std::lock_guard lock(mutex_);
  if (tracks_.size() >= many_threads && !tracks_.contains(tid))
    sweep(at_ns);
  Track &track = tracks_[tid];
  if (track.is_open() == open)
    return;
  if (track.switches.size() >= many_switches && at_ns > longest_delay_ns)
    track.forget_before(at_ns - longest_delay_ns);
  track.turn(at_ns);
}

void RegionFilter::sweep(uint64_t now_ns) {
  std::erase_if(tracks_, [now_ns](const auto &each) {
    const Track &track = each.second;
    return !track.is_open() &&
           (track.switches.empty() || track.switches.back() + longest_delay_ns < now_ns);
  });
}

void RegionFilter::open(pid_t tid, uint64_t at_ns) { turn(tid, at_ns, true); }
void RegionFilter::close(pid_t tid, uint64_t at_ns) { turn(tid, at_ns, false); }

void RegionFilter::close_all(uint64_t at_ns) {
  const std::lock_guard lock(mutex_);
  for (auto &[tid, track] : tracks_)
    if (track.is_open())
      track.turn(at_ns);
  stops_.clear();
}

bool RegionFilter::is_open(pid_t tid) const {
  const std::lock_guard lock(mutex_);
  const auto found = tracks_.find(tid);
  return found != tracks_.end() && found->second.is_open();
}

bool RegionFilter::holds(pid_t tid, uint64_t at_ns) {
  const std::lock_guard lock(mutex_);
  const auto inside = [&](pid_t id) {
    const auto found = tracks_.find(id);
    if (found == tracks_.end())
      return false;
    Track &track = found->second;
    const bool in = track.holds(at_ns);
    // The track is trimmed only now and then, because erasing from the front moves the rest. The
    // samples of one thread come in order; those of different threads may not.
    const uint64_t disorder = id == all_threads ? longest_delay_ns : disorder_ns;
    if (track.switches.size() >= 64 && at_ns > disorder &&
        track.switches[track.switches.size() / 2] < at_ns - disorder)
      track.forget_before(at_ns - disorder);
    return in;
  };
  return inside(all_threads) || inside(tid);
}

size_t RegionFilter::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = tracks_.size() * (sizeof(Track) + 2 * sizeof(void *));
  for (const auto &[tid, track] : tracks_)
    bytes += track.switches.capacity() * sizeof(uint64_t);
  return bytes;
}

} // namespace tally
