// `profile break` and `profile list`: from a row of the last table to the code.
#include <fmt/format.h>

#include "session/profile_commands.h"
#include "support/number.h"

namespace tally {

namespace {

// Returns the file and the line, or an empty text and the address, of the row's hottest code.
Result<std::pair<std::string, uint64_t>> location_of_row(const ShownProfile &profile, int32_t pid,
                                                         const ParsedCommand &command) {
  const std::string source = fmt::format("profile {}", command.spec->name);
  TALLY_TRY(number, whole_number(command.arguments[0], 1, UINT32_MAX, source));
  const ShownTable *const shown = profile.table();
  if (!shown)
    return fail(ErrorCode::bad_state, "no report was shown yet: `profile report` numbers its rows",
                source);
  const ShownTable &report = *shown;
  if (number > report.rows.size())
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("there is no row {}: the last report showed {}", number,
                    report.rows.empty() ? "none" : fmt::format("1 to {}", report.rows.size())),
        source);
  const FlatRow &row = report.rows[number - 1];
  const auto location_in = [&](const auto &each) -> Result<HotLocation> {
    if (report.filter.takes_all())
      return hot_location(each, report.by, row);
    TALLY_TRY(some, filter_samples(each, report.filter));
    return hot_location(some, report.by, row);
  };
  auto location = report.loaded ? std::visit(location_in, report.loaded->read.profile)
                                : location_in(*report.sampled);
  const std::string what = row.name.empty() ? fmt::format("row {}", number)
                                            : fmt::format("row {} ({})", number, row.name);
  if (!location) {
    Error error = std::move(location.error());
    if (error.code == ErrorCode::unsupported)
      error.message = fmt::format("row {} {}", number, error.message);
    error.source = source;
    return fail(std::move(error));
  }
  if (!can_be_passed(location->file))
    return fail(ErrorCode::unsupported,
                fmt::format("the file name of {} cannot be passed to the debugger", what), source);
  if (location->line > 0 && !location->file.empty())
    return std::pair(location->file, uint64_t{location->line});
  if (location->address == 0 || command.spec->name == "list")
    return fail(ErrorCode::not_found, fmt::format("no source line is known for {}", what), source);
  if (report.pid != pid)
    return fail(
        ErrorCode::not_found,
        fmt::format("no source line is known for {}, and process {}, to which its addresses "
                    "belong, is gone",
                    what, report.pid),
        source);
  return std::pair(std::string(), location->address);
}

Result<std::string> show_row(const ShownProfile &profile, Front &front,
                             const ParsedCommand &command,
                             Result<void> (Debugger::*show)(const std::string &, uint64_t)) {
  TALLY_TRY(location, location_of_row(profile, front.target.pid, command));
  const auto &[file, at] = location;
  if (auto shown = front.ask(show, file, at); !shown)
    return fail(
        error_about(file.empty() ? fmt::format("{:#x}", at) : fmt::format("{}:{}", file, at),
                    ErrorCode::not_found, std::move(shown.error())));
  return "";
}

} // namespace

Result<std::string> break_command(const ShownProfile &profile, Front &front,
                                  const ParsedCommand &command) {
  return show_row(profile, front, command, &Debugger::set_breakpoint);
}

Result<std::string> list_command(const ShownProfile &profile, Front &front,
                                 const ParsedCommand &command) {
  return show_row(profile, front, command, &Debugger::list_source);
}

} // namespace tally
