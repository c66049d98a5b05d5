#include "session/profile_store.h"

#include <utility>

#include <tally/merge.h>

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
  if (!named_ && !frozen_)
    named_ = kept_;
}

void ProfileStore::freeze(StackProfile profile) {
  frozen_ = std::make_shared<const StackProfile>(std::move(profile));
  named_.reset(); // even if it is equal, the frozen profile is the one that is kept
}

Result<void> ProfileStore::take_named(StackProfile profile) {
  if (kept_) {
    StackProfileBuilder all(*kept_);
    TALLY_CHECK(append_stacks(all, profile));
    TALLY_TRY(sum, all.finish());
    named_ = std::make_shared<const StackProfile>(std::move(sum));
  } else {
    named_ = std::make_shared<const StackProfile>(std::move(profile));
  }
  if (frozen_) {
    kept_ = named_;
    frozen_.reset();
  }
  return {};
}

void ProfileStore::load(LoadedProfile profile) {
  loaded_ = std::make_shared<const LoadedProfile>(std::move(profile));
}

void ProfileStore::clear() {
  kept_.reset();
  frozen_.reset();
  named_.reset();
}

} // namespace tally
