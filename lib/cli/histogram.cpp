#include <memory>

#include <tally/file_io.h>
#include <tally/histogram_text.h>

#include "arguments.h"
#include "profiles.h"
#include "report/function_alias.h"

namespace tally::cli {

namespace {

struct HistogramArguments {
  std::string file, scale;
  InputOptions input;
  TableOptions table;
  HistogramOptions histogram;
};

template <class AnyProfile>
Result<HistogramTable> table_by_any_name(const AnyProfile &profile,
                                         const HistogramOptions &options) {
  const auto symbolizer = make_symbolizer();
  const auto make = [&](const std::string &name) -> Result<HistogramTable> {
    TALLY_TRY(view, pc_view(profile, name));
    return histogram_table(view, {name, options.scale});
  };
  return by_any_name(profile, options.what, *symbolizer, 0, make);
}

Result<HistogramTable> table_of(const HistogramArguments &options, const ProgramNames &program) {
  Diagnostics findings;
  auto read = read_any(options.file, options.input, findings);
  if (read && std::holds_alternative<PcProfile>(read->content) && !program.get())
    warn_of_no_names(options.file, no_names_remedy, findings);
  show(findings);
  TALLY_TRY(file, std::move(read));
  if (const auto *pcs = std::get_if<PcProfile>(&file.content)) {
    TALLY_TRY(view, pc_view(*pcs, program.get()));
    return histogram_table(view, options.histogram);
  }
  TALLY_TRY(profile, profile_of(options.file, std::move(file)));
  if (const auto *stacks = std::get_if<StackProfile>(&profile.profile))
    return table_by_any_name(*stacks, options.histogram);
  TALLY_TRY(costs, costs_for_event(std::get<CostProfile>(profile.profile), options.table.event));
  return table_by_any_name(costs, options.histogram);
}

Result<void> run(HistogramArguments options) {
  if (!options.scale.empty()) {
    TALLY_TRY(scale, scale_of(options.scale, "--scale"));
    options.histogram.scale = scale;
  }
  TALLY_TRY(program, names_of_program(options.input));
  TALLY_TRY(table, about(options.file, table_of(options, program)));
  return write_file("-", options.table.json ? to_json(table, options.table.limit.value_or(0))
                                            : to_text(table, options.table.text(0)));
}

} // namespace

void add_histogram(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<HistogramArguments>();
  CLI::App &command = add_command(app, "histogram", "print ticks by address, bin by bin, with bars",
                                  "tally histogram gmon.out --program ./words read_words");
  add_input(command, "FILE", options->file, options->input);
  command
      .add_option("RANGE", options->histogram.what,
                  "a function, or addresses LOW-HIGH\n"
                  "(default: all addresses with ticks)")
      ->type_name("");
  command
      .add_option("--scale", options->scale,
                  "as for profil(): 0xFFFF is 2 bytes per bin, 0x7FFF\n"
                  "is 4 (default: the bins fit a screen)")
      ->type_name("S");
  add_table_options(command, options->table, 0);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
