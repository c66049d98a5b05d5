// The command `profile diff`.
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "formats/formats.h"
#include "report/report.h"
#include "session/common_options.h"
#include "session/profile_commands.h"
#include "transform/sample_filter.h"

namespace tally {

namespace {

// Returns what the command selects of the saved profile, or of that of the last run.
Result<Side> side_before(const ShownProfile &profile, const std::string &program,
                         const ParsedCommand &command) {
  const std::string &name = command.arguments[0];
  if (name == "previous") {
    auto previous = profile.previous();
    if (!previous)
      return fail(ErrorCode::no_data, "there is no run before this one", "previous");
    return select_side({std::move(previous), nullptr, name}, command.filter());
  }
  Diagnostics findings;
  TALLY_TRY(path, command.file());
  TALLY_TRY(read, read_named_profile(path, findings, program));
  return select_side(side_of(std::move(read.profile), path), command.filter());
}

// Returns what the command selects of the profile that is shown.
Result<Side> side_after(const ShownProfile &profile, const ParsedCommand &command,
                        const Shown &shown) {
  Side whole;
  whole.name = profile.loaded() ? profile.loaded()->path : "the program's profile";
  if (const auto *const stacks = std::get_if<std::shared_ptr<const StackProfile>>(&shown))
    whole.stacks = *stacks;
  else
    whole.costs = std::get<std::shared_ptr<const CostProfile>>(shown);
  return select_side(std::move(whole), command.filter());
}

Result<std::string> write_stacks(const Comparison &both, const Format &format,
                                 const std::string &path) {
  TALLY_TRY(written, write_difference(both, format, path));
  std::string text = fmt::format("Wrote the difference to {} ({}).\n", path, format.name);
  for (const std::string &what : written.lost)
    text += fmt::format("Not in this format: {}.\n", what);
  return text;
}

} // namespace

Result<std::string> diff_command(ShownProfile &profile, const Front &front,
                                 const ParsedCommand &command) {
  const std::string path = in_home(command.value("o"));
  const Format *format = nullptr;
  if (command.has("o")) {
    TALLY_TRY(named, difference_format_of(command, path));
    format = named;
  }
  TALLY_TRY(by, by_of(command.value("by")));
  TALLY_TRY(sort, sort_by_of(command.value("sort")));
  TALLY_TRY(before, side_before(profile, front.target.program, command));
  TALLY_TRY(shown, profile.all(command));
  TALLY_TRY(after, side_after(profile, command, shown));
  const Comparison both{std::move(before), std::move(after)};
  if (format)
    return write_stacks(both, *format, path);
  TALLY_TRY(changes, changes_of(both, by, sort));
  const uint32_t limit = command.limit();
  return command.has("json")
             ? to_json(changes, limit)
             : to_text(changes, front.text_options(limit, command.has("full-names")));
}

} // namespace tally
