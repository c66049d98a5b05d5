#include <variant>

#include <tally/file_io.h>

#include "profiles.h"
#include "session/difference_file.h"

namespace tally::cli {

namespace {

Result<Profile> profile_in(const std::string &file, const ParsedCommand &given) {
  return read_for_table(file, input_options(given), {given.filter()});
}

Compared compared(const std::string &file, const Profile &profile) {
  return {std::get_if<StackProfile>(&profile), file};
}

Result<void> write_stacks(const ParsedCommand &given) {
  for (const std::string_view option : {"by", "sort", "limit", "json"})
    if (given.has(option))
      return fail(ErrorCode::invalid_argument,
                  "is for the table, in place of which -o writes stacks",
                  "--" + std::string(option));
  const std::string &before_file = given.arguments[0], &after_file = given.arguments[1];
  TALLY_TRY(before, profile_in(before_file, given));
  TALLY_TRY(after, profile_in(after_file, given));
  WriteOptions how;
  how.time = stated_time();
  TALLY_TRY(file, write_difference(compared(before_file, before), compared(after_file, after),
                                   std::string(given.value("o")), how));
  for (const std::string &what : file.written.lost)
    say("tally: not in " + std::string(file.format->name) + ": " + what);
  return {};
}

Result<FlatTable> table_of(const std::string &file, const ParsedCommand &given, By by,
                           SortBy sort) {
  TALLY_TRY(profile, profile_in(file, given));
  const auto make = [&](const auto &each) { return flat_table(each, by, sort); };
  return about(file, std::visit(make, profile));
}

} // namespace

Result<void> diff_command(const ParsedCommand &given, Outcome &) {
  const std::string &before_file = given.arguments[0], &after_file = given.arguments[1];
  TALLY_CHECK(check_inputs(given.arguments, "diff"));
  if (given.has("o"))
    return write_stacks(given);
  TALLY_TRY(by, by_of(given.value("by")));
  TALLY_TRY(sort, sort_by_of(given.value("sort")));
  TALLY_TRY(before, table_of(before_file, given, by, sort));
  TALLY_TRY(after, table_of(after_file, given, by, sort));
  if (before.events[0] != after.events[0])
    return fail(ErrorCode::invalid_input,
                "counts " + after.events[0] + ", but " + before_file + " counts " +
                    before.events[0] + "; --event NAME selects one that both have",
                after_file);
  const DiffTable changes = diff_tables(before, after, sort);
  const TableOptions options = table_options(given);
  return write_file("-", options.json ? to_json(changes, options.limit)
                                      : to_text(changes, options.text()));
}

} // namespace tally::cli
