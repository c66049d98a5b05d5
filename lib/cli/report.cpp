#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/report.h>
#include <tally/session.h>

#include "arguments.h"
#include "profiles.h"

namespace tally::cli {

namespace {

struct ReportArguments {
  std::string file;
  InputOptions input;
  TableOptions table;
  std::string by = "function", sort = "self";
};

Result<void> run(const ReportArguments &options) {
  TALLY_TRY(by, by_of(options.by));
  TALLY_TRY(sort, sort_by_of(options.sort));
  TALLY_TRY(profile, read_for_table(options.file, options.input, options.table.event));
  const auto make = [&](const auto &each) { return flat_table(each, by, sort); };
  TALLY_TRY(table, about(options.file, std::visit(make, profile)));
  return write_file("-", options.table.json ? to_json(table, options.table.limit.value_or(0))
                                            : to_text(table, options.table.text(20)));
}

// "a|b|c"
std::vector<std::string> words_of(std::string_view values) {
  return CLI::detail::split(std::string(values), '|');
}

const CommandSpec &report_command() {
  return *std::ranges::find(profile_commands(), "report", &CommandSpec::name);
}

} // namespace

void add_report(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App &command = add_command(app, "report", "print the flat table of a profile",
                                  "tally report out.folded --sort inclusive --limit 10");
  add_input(command, "FILE", options->file, options->input);
  // The debuggers' table of options tells values and help here, too.
  for (const auto &[name, value] : {std::pair("by", &options->by), {"sort", &options->sort}}) {
    const OptionSpec &spec = *std::ranges::find(report_command().options, name, &OptionSpec::name);
    command
        .add_option(fmt::format("--{}", spec.name), *value,
                    fmt::format("{} (default {})", spec.summary, spec.fallback))
        ->type_name(std::string(spec.values))
        ->check(one_of(words_of(spec.values)));
  }
  add_table_options(command, options->table, 20);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
