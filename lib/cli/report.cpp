#include <memory>

#include <tally/file_io.h>
#include <tally/report.h>

#include "profiles.h"

namespace tally::cli {

namespace {

struct ReportArguments {
  std::string file;
  InputOptions input;
  TableOptions table;
  std::string by, sort;
  SampleFilter filter;
  bool kernel = false;
};

Result<void> run(const ReportArguments &options) {
  TALLY_TRY(by, by_of(options.by));
  TALLY_TRY(sort, sort_by_of(options.sort));
  TALLY_TRY(profile, read_for_table(options.file, options.input, options.table.event,
                                    options.filter, options.kernel));
  const auto make = [&](const auto &each) { return flat_table(each, by, sort); };
  TALLY_TRY(table, about(options.file, std::visit(make, profile)));
  return write_file("-", options.table.json ? to_json(table, options.table.limit.value_or(0))
                                            : to_text(table, options.table.text(20)));
}

} // namespace

void add_report(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App &command = add_command(app, "report", "print the flat table of a profile",
                                  "tally report out.folded --sort inclusive --limit 10");
  add_input(command, "FILE", options->file, options->input);
  add_by_and_sort(command, "report", options->by, options->sort);
  add_filter(command, options->filter);
  add_flag_of(command, "report", "kernel", options->kernel);
  add_table_options(command, options->table, 20);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
