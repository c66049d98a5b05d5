// The profiles that a session holds.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "join/named_profile.h"
#include "model/stack_profile.h"
#include "transform/merge.h"

namespace tally {

using ProfilePtr = std::shared_ptr<const StackProfile>; // null if there is none

// A profile that was read from a file.
struct LoadedProfile {
  NamedProfile read;
  std::string path;
  std::string program; // the program that its addresses belong to; empty if unknown
};

// A profile of addresses that a sampler of process `pid` has left.
struct FrozenProfile {
  int32_t pid = 0;
  ProfilePtr profile;
};

// A sampler that ends leaves a profile of addresses, which is *frozen* until its names are looked
// up. It is then *kept*, added to what earlier samplers of this run have left. *Named* is
// everything up to now, with names; it is valid until the process runs on. *Previous* is what was
// kept of the run before this one. A *loaded* profile hides all of these until the process runs.
class ProfileStore {
public:
  const std::deque<FrozenProfile> &frozen() const { return frozen_; }
  const ProfilePtr &kept() const { return kept_; }
  const ProfilePtr &named() const { return named_; }
  const ProfilePtr &previous() const { return previous_; }
  const std::shared_ptr<const LoadedProfile> &loaded() const { return loaded_; }

  // Returns whether an ended sampler has left a profile, with or without names.
  bool has_kept() const { return kept_ || !frozen_.empty(); }

  // Makes the kept profile the previous one, for another process or other options.
  void begin_run();
  // Sets the previous profile to what was sampled before a region. Called when the region begins.
  void set_previous(ProfilePtr profile) { previous_ = std::move(profile); }
  void process_resumed();
  void drop_named() { named_.reset(); }
  // Names the kept profile, if nothing is frozen. Call it if there is no sampler.
  void name_from_kept();

  void freeze(int32_t pid, StackProfile profile);
  void drop_frozen() { frozen_.clear(); }
  // `profile` is the oldest frozen profile with names. Adds it to the kept profile. Errors: those
  // of append_stacks().
  Result<void> keep(StackProfile profile);
  // `profile` is that of the running samplers, with names. named() becomes the sum of the kept
  // profile and `profile`. Errors: those of append_stacks().
  Result<void> take_named(StackProfile profile);

  void load(LoadedProfile profile);
  void unload() { loaded_.reset(); }
  void clear(); // all but what was loaded and the previous run

private:
  Result<ProfilePtr> with_kept(StackProfile profile) const; // their sum

  std::deque<FrozenProfile> frozen_; // the oldest first
  ProfilePtr kept_;
  ProfilePtr named_;
  ProfilePtr previous_;
  std::shared_ptr<const LoadedProfile> loaded_;
};

} // namespace tally
