#include <memory>

#include "profiles.h"

namespace tally::cli {

namespace {

struct MergeArguments {
  std::vector<std::string> files;
  InputOptions input;
  OutputOptions output;
};

Result<void> run(const MergeArguments &options) {
  TALLY_CHECK(check_inputs(options.files, "merge"));
  TALLY_TRY(all, read_inputs(options.files, options.input, true));
  const Format &format = *all.format;
  TALLY_TRY(sum, sum_of(std::move(all), options.input));
  return write_output(sum, format, options.output, options.input);
}

} // namespace

void add_merge(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<MergeArguments>();
  CLI::App &command =
      add_command(app, "merge", "add up profiles, counters or coverage of one format",
                  "tally merge callgrind.out.* -o all.callgrind");
  add_inputs(command, "IN", options->files, options->input);
  add_output(command, options->output);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
