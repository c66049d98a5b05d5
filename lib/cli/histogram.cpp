
#include "profiles.h"
#include "report/function_alias.h"
#include "report/histogram_text.h"
#include "support/file_io.h"

namespace tally::cli {

namespace {

template <class AnyProfile>
Result<HistogramTable> table_by_any_name(const AnyProfile &profile, const HistogramOptions &options,
                                         Symbolizer &symbolizer) {
  const auto make = [&](const std::string &name) -> Result<HistogramTable> {
    TALLY_TRY(view, pc_view(profile, name));
    return histogram_table(view, {name, options.scale});
  };
  return by_any_name(profile, options.what, symbolizer, 0, make);
}

Result<HistogramTable> table_of(const ParsedCommand &given, const HistogramOptions &how,
                                const InputOptions &input, const ProgramNames &program) {
  const std::string &path = given.arguments[0];
  Diagnostics findings;
  auto read = read_any(path, input, findings);
  if (read && std::holds_alternative<PcProfile>(read->content) && !program.get())
    warn_of_no_names(path, no_names_remedy, findings);
  show(findings);
  TALLY_TRY(file, std::move(read));
  const SampleFilter all = given.filter();
  const Selection times{{.from_ns = all.from_ns, .to_ns = all.to_ns}};
  if (const auto *pcs = std::get_if<PcProfile>(&file.content); pcs && times.takes_all()) {
    TALLY_TRY(view, pc_view(*pcs, program.get()));
    return histogram_table(view, how);
  }
  TALLY_TRY(whole, profile_of(path, std::move(file)));
  TALLY_TRY(profile, select_from(std::move(whole.profile), times, path));
  if (const auto *stacks = std::get_if<StackProfile>(&profile))
    return table_by_any_name(*stacks, how, *input.symbolizer);
  TALLY_TRY(costs,
            costs_for_event(std::get<CostProfile>(profile), std::string(given.value("event"))));
  return table_by_any_name(costs, how, *input.symbolizer);
}

} // namespace

Result<void> histogram_command(const ParsedCommand &given, Outcome &) {
  HistogramOptions how;
  how.what = given.argument(1);
  if (given.has("scale")) {
    TALLY_TRY(scale, scale_of(std::string(given.value("scale")), "--scale"));
    how.scale = scale;
  }
  const InputOptions input = input_options(given);
  TALLY_TRY(program, program_names(input));
  TALLY_TRY(table, about(given.arguments[0], table_of(given, how, input, program)));
  const TableOptions options = table_options(given);
  return write_file("-",
                    options.json ? to_json(table, options.limit) : to_text(table, options.text()));
}

} // namespace tally::cli
