// The command `profile diff`.
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <tally/formats.h>
#include <tally/report.h>
#include <tally/sample_filter.h>

#include "session/difference_file.h"
#include "session/profile_commands.h"

namespace tally {

namespace {

// Returns what the command selects of the saved profile, or of that of the last run.
Result<Side> side_before(ProfileGroup &group, const ParsedCommand &command) {
  const std::string &name = command.arguments[0];
  if (name == "previous") {
    auto previous = group.profiles.previous();
    if (!previous)
      return fail(ErrorCode::no_data, "there is no run before this one", "previous");
    return select_side({std::move(previous), nullptr, name}, command.filter());
  }
  Diagnostics findings;
  TALLY_TRY(path, command.file());
  TALLY_TRY(read, read_named_profile(path, findings, group.front.target.program));
  return select_side(side_of(std::move(read.profile), path), command.filter());
}

// Returns what the command selects of the profile that is shown, which must outlive the result.
Result<Side> side_after(const ProfileGroup &group, const ParsedCommand &command, Shown shown) {
  Side whole;
  whole.name = group.profiles.loaded() ? group.profiles.loaded()->path : "the program's profile";
  const std::shared_ptr<void> not_owned;
  if (const auto *const stacks = std::get_if<const StackProfile *>(&shown))
    whole.stacks = {not_owned, *stacks};
  else
    whole.costs = {not_owned, std::get<const CostProfile *>(shown)};
  return select_side(std::move(whole), command.filter());
}

Result<Reply> write_stacks(const Comparison &both, const Format &format, const std::string &path) {
  TALLY_TRY(written, write_difference(both, format, path));
  std::string text = fmt::format("Wrote the difference to {} ({}).\n", path, format.name);
  for (const std::string &what : written.lost)
    text += fmt::format("Not in this format: {}.\n", what);
  return Reply{std::move(text), {}};
}

} // namespace

Result<Reply> diff_command(ProfileGroup &group, const ParsedCommand &command) {
  const std::string path = in_home(command.value("o"));
  const Format *format = nullptr;
  if (command.has("o")) {
    TALLY_TRY(named, difference_format(command, path));
    format = named;
  }
  TALLY_TRY(by, by_of(command.value("by")));
  TALLY_TRY(sort, sort_by_of(command.value("sort")));
  TALLY_TRY(before, side_before(group, command));
  // The function may run later, and may be copied: it holds the profile by a pointer.
  return with_all_shown(group, command, [=, &group](Shown shown) -> Result<Reply> {
    TALLY_TRY(after, side_after(group, command, shown));
    const Comparison both{before, std::move(after)};
    if (format)
      return write_stacks(both, *format, path);
    TALLY_TRY(changes, changes_of(both, by, sort));
    const uint32_t limit = command.limit();
    return Reply{command.has("json")
                     ? to_json(changes, limit)
                     : to_text(changes, group.front.text_options(limit, command.has("full-names"))),
                 {}};
  });
}

} // namespace tally
