// The `profile` commands, one function each, with the state that it needs. They return the text to
// print.
#pragma once

#include <string>
#include <vector>

#include "session/shown_profile.h"
#include "session/status.h"

namespace tally {

Result<std::string> start_command(const Sampling &sampling, Backends &backends,
                                  const Settings &settings, const ParsedCommand &command);
Result<std::string> stop_command(Sampling &sampling, Backends &backends);
Result<std::string> clear_command(ShownProfile &profile, ProfileStore &profiles,
                                  Sampling &sampling);
Result<std::string> load_command(ProfileStore &profiles, const std::string &program,
                                 const ParsedCommand &command);
Result<std::string> config_command(Settings &settings, bool has_begun,
                                   const ParsedCommand &command);

// Holds what `status` describes.
struct StatusSources {
  const Front &front;
  const Settings &settings;
  Sampling &sampling;
  const Backends &backends;
  const ProfileStore &profiles;
};
std::vector<StatusRow> status_rows(const StatusSources &of);
Result<std::string> status_command(const StatusSources &of, const ParsedCommand &command);

Result<std::string> report_command(ShownProfile &profile, const Front &front,
                                   const ParsedCommand &command);
Result<std::string> tree_command(ShownProfile &profile, const Front &front,
                                 const ParsedCommand &command);
Result<std::string> timeline_command(ShownProfile &profile, const Front &front,
                                     const ParsedCommand &command);
Result<std::string> annotate_command(ShownProfile &profile, Front &front,
                                     const ParsedCommand &command);
Result<std::string> annotate_code(ShownProfile &profile, Front &front,
                                  const ParsedCommand &command); // `annotate --asm`
Result<std::string> histogram_command(ShownProfile &shown, const Front &front,
                                      const ParsedCommand &command);
Result<std::string> diff_command(ShownProfile &profile, const Front &front,
                                 const ParsedCommand &command);
Result<std::string> dump_command(ShownProfile &profile, const ParsedCommand &command);
Result<std::string> break_command(const ShownProfile &profile, Front &front,
                                  const ParsedCommand &command);
Result<std::string> list_command(const ShownProfile &profile, Front &front,
                                 const ParsedCommand &command);

// Returns the options of `start`. An option that is not given has the value of its setting.
StartOptions start_options(const Settings &settings, const ParsedCommand &command);

// Returns the warnings and errors among the diagnostics, in complete lines.
std::string warnings_of(const Diagnostics &diagnostics);

// add_region() adds the region's rows to those of `status`. region_footer() returns the line about
// the region that follows a table, without a line end.
void add_region(const Region &region, std::vector<StatusRow> &rows);
std::string region_footer(const Region &region);

} // namespace tally
