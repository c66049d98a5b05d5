#include "session/watched_region.h"

#include <utility>

#include "support/clock.h"

namespace tally {

Result<std::shared_ptr<Region>> WatchedRegion::watch(const std::vector<std::string> &locations) {
  auto region = std::make_shared<Region>(locations);
  const bool before = std::exchange(watched_, true);
  const std::string second = locations.size() > 1 ? locations[1] : std::string();
  if (auto watched = front_.ask(&Debugger::watch_region, locations[0], second); !watched) {
    if (!is_interrupted(watched.error()))
      watched_ = before;
    return fail(error_about("profile region", ErrorCode::not_found, std::move(watched.error())));
  }
  return region;
}

Region *WatchedRegion::current() const {
  const bool is_next = backends_.is_armed() && !sampling_.is_active();
  return is_next && backends_.options().region ? backends_.options().region.get()
                                               : sampling_.region();
}

void WatchedRegion::settle() {
  if (!watched_ || backends_.is_armed() || sampling_.is_active())
    return;
  watched_ = !front_.undo(&Debugger::end_region);
  if (const auto &region = backends_.options().region)
    region->close();
  backends_.set_region(nullptr);
}

bool WatchedRegion::measures() const {
  const Region *const region = sampling_.region();
  return region && region->stops().measures();
}

uint64_t WatchedRegion::hit(const RegionHit &hit) {
  Region *const region = sampling_.region();
  if (!watched_ || !sampling_.is_active() || !sampling_.time().is_running() || !region) {
    if (region)
      region->pass_over_hit(hit.tid);
    return hit.kind == RegionHit::Kind::returned ? hit.return_address : 0;
  }
  const uint64_t now = now_ns();
  return region->hit(hit, sampling_.options().remote ? 0 : sampling_.pid(), now,
                     sampling_.time().ran_ns(now));
}

} // namespace tally
