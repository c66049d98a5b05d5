// The profile that the commands show: what was sampled, or a file that was loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "report/report.h"
#include "session/backends.h"
#include "session/command_line.h"
#include "session/front.h"
#include "session/name_lookup.h"
#include "session/profile_store.h"
#include "session/sampling.h"
#include "session/settings.h"

namespace tally {

// A table that was shown as text: users name its rows by number.
struct ShownTable {
  By by = By::function;
  std::vector<FlatRow> rows;                   // as many as were shown
  ProfilePtr sampled;                          // the profile it was made from; null if loaded
  std::shared_ptr<const LoadedProfile> loaded; // the file it was made from; null if sampled
  int32_t pid = 0;                             // of the sampled process; 0 if loaded
  SampleFilter filter{};                       // the samples that it shows
};

using Shown = std::variant<std::shared_ptr<const StackProfile>, std::shared_ptr<const CostProfile>>;

class ShownProfile {
public:
  // All of them outlive this object.
  ShownProfile(const Front &front, const Settings &settings, Sampling &sampling,
               const Backends &backends, ProfileStore &profiles, NameLookup &names)
      : front_(front), settings_(settings), sampling_(sampling), backends_(backends),
        profiles_(profiles), names_(names) {}

  // Returns Sampling::profile(). If there is no profile, the error says what to do.
  Result<ProfilePtr> collected();
  // Does the same. If there are no samples, the error says why.
  Result<ProfilePtr> sampled(const ParsedCommand &command);
  // Returns the loaded profile or, if there is none, what was sampled.
  Result<Shown> all(const ParsedCommand &command);
  // Applies the command's --thread, --part, --kernel, patterns, … to it.
  Result<Shown> selected(const ParsedCommand &command);

  const std::shared_ptr<const LoadedProfile> &loaded() const { return profiles_.loaded(); }
  const ProfilePtr &previous() const { return profiles_.previous(); }
  int pid() const { return sampling_.pid(); } // of what was sampled
  // Returns the process of the shown profile; 0 if it has ended or if the profile was loaded.
  int live_pid() const;
  bool is_running() const { return sampling_.is_running(); }
  NameLookup &names() { return names_; }
  // Applies the setting to later look-ups of names.
  void apply_debuginfod();

  // Returns the lines below a table: its file or region, what was not sampled, and warnings.
  std::string footer() const;
  // Returns the lines that say why names may be wrong: a file that was replaced since it ran, or
  // debug information of another build.
  std::string warnings() const;

  // Remembers the rows that users can name from now on; a limit of 0 means all.
  void remember(FlatTable table, uint32_t limit, SampleFilter filter);
  void forget_table() { table_.reset(); }
  const ShownTable *table() const { return table_ ? &*table_ : nullptr; }

private:
  std::string why_no_samples() const;

  const Front &front_;
  const Settings &settings_;
  Sampling &sampling_;
  const Backends &backends_;
  ProfileStore &profiles_;
  NameLookup &names_;
  std::optional<ShownTable> table_;
};

} // namespace tally
