// The group of the `profile` commands, and its state.
//
// A group of commands shares only the Front with other groups. It has a table of commands, an
// event() that follows the process, and state of its own. Session passes each event on to all
// groups, after it has updated the Front's target.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collect/held_watch.h"
#include "report/report.h"
#include "session/backends.h"
#include "session/command_line.h"
#include "session/front.h"
#include "session/name_lookup.h"
#include "session/profile_store.h"
#include "session/run_timer.h"
#include "session/sampling.h"
#include "session/settings.h"

namespace tally {

// The last table that was shown as text: users name its rows by number.
struct ShownTable {
  By by = By::function;
  std::vector<FlatRow> rows;                   // as many as were shown
  ProfilePtr sampled;                          // the profile it was made from; null if loaded
  std::shared_ptr<const LoadedProfile> loaded; // the file it was made from; null if sampled
  int32_t pid = 0;                             // of the sampled process; 0 if loaded
  SampleFilter filter{};                       // the samples that it shows
};

// The members are public for the commands (profile_commands.h), each of which needs several.
class ProfileGroup {
public:
  explicit ProfileGroup(Front &shared_front);

  Result<std::string> event(const DebugEvent &event);
  // Follows a process that is debugged beside the first sampled one.
  Result<std::string> event_beside(const DebugEvent &event);
  // See Session::limit_reached().
  Result<std::string> limit_reached();
  // Undoes what a command or an event has begun that failed.
  void give_up() { backends.undo_changes(false); }
  // Ends the region if it is no longer sampled. Called when a command or an event ends.
  void settle();
  // See Session::region_hit().
  uint64_t region_hit(const RegionHit &hit);
  bool region_measures() const;
  // Returns the words that complete an argument of `kind`, without looking up names.
  std::vector<std::string> words_of(ValueKind kind) const;

  // Returns Sampling::profile(). If there is no profile, the error says what to do.
  Result<ProfilePtr> profile();
  Symbolizer &symbolizer() { return names.symbolizer(); }
  // Returns the process of the shown profile; 0 if it has ended or if the profile was loaded.
  int live_pid() const;

  Front &front;
  Settings settings;
  HeldWatch held;
  ProfileStore profiles;
  NameLookup names{front.debugger};
  Sampling sampling;
  Backends backends;
  std::optional<ShownTable> shown_table;
  RunTimer run_timer{held.times()};
  bool region_requested = false; // the debugger was asked to watch a region

private:
  Result<std::string> follow(const DebugEvent &event);
  Result<std::string> follow_beside(const DebugEvent &event);
  Result<std::string> process_ended(const DebugEvent &event);
  Result<std::string> end_at_limit(); // ends sampling, and shows the report
  void watch_held(uint64_t since_ns); // while a run is measured, which began then
  void apply_debuginfod();            // the setting, to later look-ups of names
};

} // namespace tally
