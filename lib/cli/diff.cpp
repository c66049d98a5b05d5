#include <tally/file_io.h>

#include "profiles.h"

namespace tally::cli {

namespace {

Result<FlatTable> table_of(const std::string &file, const ParsedCommand &given, By by,
                           SortBy sort) {
  TALLY_TRY(profile, read_for_table(file, input_options(given), {given.filter()}));
  const auto make = [&](const auto &each) { return flat_table(each, by, sort); };
  return about(file, std::visit(make, profile));
}

} // namespace

Result<void> diff_command(const ParsedCommand &given, Outcome &) {
  const std::string &before_file = given.arguments[0], &after_file = given.arguments[1];
  TALLY_CHECK(check_inputs(given.arguments, "diff"));
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
