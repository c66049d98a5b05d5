// The `profile` commands, one function each, and how they reach the profile that they show.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "session/profile_group.h"
#include "session/status.h"

namespace tally {

using ProfileCommand = Result<std::string>(ProfileGroup &group, const ParsedCommand &command);
ProfileCommand run_profile_command; // by the table, in profile_table.cpp
ProfileCommand start_command, stop_command, status_command, report_command, break_command,
    list_command, tree_command, timeline_command, annotate_command, dump_command, load_command,
    histogram_command, diff_command, clear_command, config_command, region_command;
ProfileCommand annotate_code; // `annotate --asm`

// Returns the options of `start`. An option that is not given has the value of its setting.
StartOptions start_options(const Settings &settings, const ParsedCommand &command);

// Returns ProfileGroup::profile(). If there are no samples, the error says why.
Result<ProfilePtr> sampled_profile(ProfileGroup &group, const ParsedCommand &command);

using Shown = std::variant<std::shared_ptr<const StackProfile>, std::shared_ptr<const CostProfile>>;
// Returns the loaded profile or, if there is none, what was sampled. The command's --thread,
// --part, --kernel, patterns, … are applied.
Result<Shown> shown_profile(ProfileGroup &group, const ParsedCommand &command);
// Does the same without the options that select samples.
Result<Shown> all_shown(ProfileGroup &group, const ParsedCommand &command);
// Returns the lines below a table: its file or region, what was not sampled, and warnings.
std::string footer(ProfileGroup &group);
// Returns the diagnostics that say why names may be wrong: a file that was replaced since it ran,
// or debug information of another build.
std::string warnings_of(const Diagnostics &diagnostics);

// Returns the rows of `status`.
std::vector<StatusRow> status_rows(ProfileGroup &group);
// add_region() adds the region's rows to those of `status`. region_footer() returns the line about
// the region that follows a table, without a line end.
void add_region(const Region &region, std::vector<StatusRow> &rows);
std::string region_footer(const Region &region);
} // namespace tally
