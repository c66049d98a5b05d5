#include <memory>

#include <tally/file_io.h>

#include "profiles.h"

namespace tally::cli {

namespace {

struct DiffArguments {
  std::string before, after;
  InputOptions input;
  TableOptions table;
  std::string by, sort;
};

Result<FlatTable> table_of(const std::string &file, const DiffArguments &options, By by,
                           SortBy sort) {
  TALLY_TRY(profile, read_for_table(file, options.input, options.table.event));
  const auto make = [&](const auto &each) { return flat_table(each, by, sort); };
  return about(file, std::visit(make, profile));
}

Result<void> run(const DiffArguments &options) {
  TALLY_CHECK(check_inputs({options.before, options.after}, "diff"));
  TALLY_TRY(by, by_of(options.by));
  TALLY_TRY(sort, sort_by_of(options.sort));
  TALLY_TRY(before, table_of(options.before, options, by, sort));
  TALLY_TRY(after, table_of(options.after, options, by, sort));
  if (before.events[0] != after.events[0])
    return fail(ErrorCode::invalid_input,
                "counts " + after.events[0] + ", but " + options.before + " counts " +
                    before.events[0] + "; --event NAME selects one that both have",
                options.after);
  const DiffTable changes = diff_tables(before, after, sort);
  return write_file("-", options.table.json ? to_json(changes, options.table.limit.value_or(0))
                                            : to_text(changes, options.table.text(20)));
}

} // namespace

void add_diff(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<DiffArguments>();
  CLI::App &command = add_command(app, "diff", "print what changed from one profile to another",
                                  "tally diff before.callgrind after.callgrind");
  add_input(command, "BEFORE", options->before, options->input);
  command.add_option("AFTER", options->after, "the profile to compare with BEFORE")
      ->type_name("")
      ->required();
  add_by_and_sort(command, "diff", options->by, options->sort);
  add_table_options(command, options->table, 20);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
