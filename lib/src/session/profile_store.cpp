#include "session/profile_store.h"

#include <utility>

#include "transform/append.h"

namespace tally {

void ProfileStore::begin_run() {
  if (kept_)
    previous_ = std::exchange(kept_, nullptr);
}

void ProfileStore::process_resumed() {
  named_.reset();
  loaded_.reset();
}

void ProfileStore::name_from_kept() {
  if (!named_ && frozen_.empty())
    named_ = kept_;
}

void ProfileStore::freeze(int32_t pid, StackProfile profile) {
  frozen_.push_back({pid, std::make_shared<const StackProfile>(std::move(profile))});
  named_.reset(); // even if it is equal, the frozen profile is the one that is kept
}

Result<ProfilePtr> ProfileStore::with_kept(StackProfile profile) const {
  if (!kept_)
    return std::make_shared<const StackProfile>(std::move(profile));
  StackProfileBuilder all(*kept_);
  TALLY_CHECK(append_same_axis(all, profile));
  TALLY_TRY(sum, all.finish());
  return std::make_shared<const StackProfile>(std::move(sum));
}

Result<void> ProfileStore::keep(StackProfile profile) {
  TALLY_TRY(sum, with_kept(std::move(profile)));
  kept_ = std::move(sum);
  frozen_.pop_front();
  named_.reset();
  return {};
}

Result<void> ProfileStore::take_named(StackProfile profile) {
  TALLY_TRY(sum, with_kept(std::move(profile)));
  named_ = std::move(sum);
  return {};
}

void ProfileStore::load(LoadedProfile profile) {
  loaded_ = std::make_shared<const LoadedProfile>(std::move(profile));
}

void ProfileStore::clear() {
  kept_.reset();
  frozen_.clear();
  named_.reset();
}

} // namespace tally
