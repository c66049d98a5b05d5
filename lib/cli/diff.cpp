#include <tally/file_io.h>

#include "profiles.h"
#include "session/difference_file.h"

namespace tally::cli {

namespace {

Result<Side> side_in(const std::string &file, const ParsedCommand &given) {
  TALLY_TRY(profile, read_for_table(file, input_options(given), {}));
  return select_side(side_of(std::move(profile), file), given.filter());
}

Result<Comparison> both_in(const ParsedCommand &given) {
  TALLY_TRY(before, side_in(given.arguments[0], given));
  TALLY_TRY(after, side_in(given.arguments[1], given));
  return Comparison{std::move(before), std::move(after),
                    "; --event NAME selects one that both have"};
}

Result<void> write_stacks(const ParsedCommand &given) {
  const std::string path(given.value("o"));
  TALLY_TRY(format, difference_format(given, path));
  TALLY_TRY(both, both_in(given));
  WriteOptions how;
  how.time = stated_time();
  TALLY_TRY(written, write_difference(both, *format, path, how));
  for (const std::string &what : written.lost)
    say("tally: not in " + std::string(format->name) + ": " + what);
  return {};
}

} // namespace

Result<void> diff_command(const ParsedCommand &given, Outcome &) {
  TALLY_CHECK(check_inputs(given.arguments, "diff"));
  if (given.has("o"))
    return write_stacks(given);
  TALLY_TRY(by, by_of(given.value("by")));
  TALLY_TRY(sort, sort_by_of(given.value("sort")));
  TALLY_TRY(both, both_in(given));
  TALLY_TRY(changes, changes_of(both, by, sort));
  const TableOptions options = table_options(given);
  return write_file("-", options.json ? to_json(changes, options.limit)
                                      : to_text(changes, options.text()));
}

} // namespace tally::cli
