// The group of the `profile` commands. The state of each kind has an owner; the table hands a
// command those that it needs.
//
// A group of commands shares only the Front with other groups. It has a table of commands, an
// event() that follows the process, and state of its own. Session passes each event on to all
// groups, after it has updated the Front's target.
#pragma once

#include <string>
#include <vector>

#include "collect/held_watch.h"
#include "session/backends.h"
#include "session/command_line.h"
#include "session/front.h"
#include "session/name_lookup.h"
#include "session/profile_commands.h"
#include "session/profile_store.h"
#include "session/profile_table.h"
#include "session/run_timer.h"
#include "session/sampling.h"
#include "session/settings.h"
#include "session/shown_profile.h"
#include "session/watched_region.h"

namespace tally {

struct ProfileGroup {
  explicit ProfileGroup(Front &shared_front) : front(shared_front) {}

  // Performs a command of the table.
  Result<std::string> run(const ParsedCommand &command);
  Result<std::string> event(const DebugEvent &event);
  // Follows a process that is debugged beside the first sampled one.
  Result<std::string> event_beside(const DebugEvent &event);
  // See Session::limit_reached().
  Result<std::string> limit_reached();
  // Undoes what a command or an event has begun that failed.
  void give_up() { backends.undo_changes(false); }
  // Returns the words that complete an argument of `kind`, without looking up names.
  std::vector<std::string> words_of(ValueKind kind) const;
  StatusSources status_sources() { return {front, settings, sampling, backends, profiles}; }
  // Returns whether a process is sampled, or the next one will be.
  bool has_begun() const { return sampling.is_active() || backends.is_armed(); }

  Front &front;
  Settings settings{profile_table()};
  HeldWatch held;
  ProfileStore profiles;
  NameLookup names{front.debugger};
  Sampling sampling{front.target, profiles, names, held.times()};
  Backends backends{front, sampling};
  ShownProfile shown{front, settings, sampling, backends, profiles, names};
  WatchedRegion region{front, sampling, backends};
  RunTimer run_timer{held.times()};

private:
  Result<std::string> follow(const DebugEvent &event);
  Result<std::string> follow_beside(const DebugEvent &event);
  Result<std::string> process_ended(const DebugEvent &event);
  Result<std::string> end_at_limit(); // ends sampling, and shows the report
  void watch_held(uint64_t since_ns); // while a run is measured, which began then
};

// `profile region` begins a profile, for which it needs nearly all of the group.
Result<std::string> region_command(ProfileGroup &group, const ParsedCommand &command);

} // namespace tally
