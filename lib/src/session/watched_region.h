// The region that the debugger watches for `profile region`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "session/backends.h"
#include "session/front.h"
#include "session/region.h"
#include "session/sampling.h"

namespace tally {

class WatchedRegion {
public:
  WatchedRegion(Front &front, Sampling &sampling, Backends &backends)
      : front_(front), sampling_(sampling), backends_(backends) {}

  // Asks the debugger to watch a function, or what lies between two locations.
  Result<std::shared_ptr<Region>> watch(const std::vector<std::string> &locations);
  bool is_watched() const { return watched_; }
  // Returns the region that is sampled, or that the next run will be; null if there is none.
  Region *current() const;
  // Ends the region if it is no longer sampled. Called when a command or an event ends.
  void settle();
  // See Session::region_hit() and region_measures().
  uint64_t hit(const RegionHit &hit);
  bool measures() const;

private:
  Front &front_;
  Sampling &sampling_;
  Backends &backends_;
  bool watched_ = false; // or it may be, because the user has interrupted the debugger
};

} // namespace tally
