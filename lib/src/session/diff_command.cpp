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
#include "session/profile_files.h"

namespace tally {

namespace {

// The saved profile, or that of the last run. One of the two is null.
struct ProfileBefore {
  std::shared_ptr<const StackProfile> stacks;
  std::shared_ptr<const CostProfile> costs;
};

// Selects the samples that the command selects.
Result<ProfileBefore> profile_before(ProfileGroup &group, const ParsedCommand &command) {
  const SampleFilter wanted = command.filter();
  const std::string &name = command.arguments[0];
  if (name == "previous") {
    auto previous = group.profiles.previous();
    if (!previous)
      return fail(ErrorCode::no_data, "there is no run before this one", "previous");
    if (wanted.takes_all())
      return ProfileBefore{std::move(previous), nullptr};
    TALLY_TRY(some, filter_samples(*previous, wanted));
    return ProfileBefore{std::make_shared<const StackProfile>(std::move(some)), nullptr};
  }
  Diagnostics findings;
  TALLY_TRY(path, command.file());
  TALLY_TRY(read, read_named_profile(path, findings, group.front.target.program));
  TALLY_TRY(selected, select_from(std::move(read.profile), {wanted}, path));
  ProfileBefore out;
  if (auto *const stacks = std::get_if<StackProfile>(&selected))
    out.stacks = std::make_shared<const StackProfile>(std::move(*stacks));
  else
    out.costs = std::make_shared<const CostProfile>(std::move(std::get<CostProfile>(selected)));
  return out;
}

Result<Reply> write_stacks(const StackProfile *before, Shown after, std::string after_name,
                           const ParsedCommand &command) {
  const std::string path = in_home(command.value("o"));
  const auto *const stacks = std::get_if<const StackProfile *>(&after);
  TALLY_TRY(file, write_difference({before, command.arguments[0]},
                                   {stacks ? *stacks : nullptr, std::move(after_name)}, path));
  std::string text = fmt::format("Wrote the difference to {} ({}).\n", path, file.format->name);
  for (const std::string &what : file.written.lost)
    text += fmt::format("Not in this format: {}.\n", what);
  return Reply{std::move(text), {}};
}

} // namespace

Result<Reply> diff_command(ProfileGroup &group, const ParsedCommand &command) {
  if (command.has("o"))
    for (const std::string_view option : {"by", "sort", "limit", "json"})
      if (command.has(option))
        return fail(ErrorCode::invalid_argument,
                    "is for the table, in place of which -o writes stacks",
                    fmt::format("--{}", option));
  const std::string name = command.arguments[0];
  TALLY_TRY(by, by_of(command.value("by")));
  TALLY_TRY(sort, sort_by_of(command.value("sort")));
  const auto table_of = [by, sort](const auto &profile) { return flat_table(profile, by, sort); };
  TALLY_TRY(before, profile_before(group, command));
  FlatTable before_table;
  if (!command.has("o")) {
    TALLY_TRY(table, before.stacks ? table_of(*before.stacks) : table_of(*before.costs));
    before_table = std::move(table);
    before = {};
  }
  const bool json = command.has("json");
  const uint32_t limit = command.limit();
  // The function may run later, and may be copied: it holds the profile by a pointer.
  return with_shown(group, command, [=, &group](Shown shown) -> Result<Reply> {
    const std::string after_name =
        group.profiles.loaded() ? group.profiles.loaded()->path : "the program's profile";
    if (command.has("o"))
      return write_stacks(before.stacks.get(), shown, after_name, command);
    TALLY_TRY(after_table, std::visit([&](auto *each) { return table_of(*each); }, shown));
    if (before_table.events[0] != after_table.events[0])
      return fail(ErrorCode::invalid_argument,
                  fmt::format("counts {}, but {} counts {}: they cannot be compared",
                              before_table.events[0], after_name, after_table.events[0]),
                  name);
    const DiffTable changes = diff_tables(before_table, after_table, sort);
    return Reply{json ? to_json(changes, limit) : to_text(changes, group.front.text_options(limit)),
                 {}};
  });
}

} // namespace tally
