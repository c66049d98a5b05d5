#include <memory>

#include <fmt/format.h>

#include "profiles.h"

namespace tally::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  InputOptions input;
  OutputOptions output;
};

Result<void> run(const Options &options) {
  TALLY_CHECK(check_inputs(options.files, "merge"));
  TALLY_TRY(all, read_inputs(options.files, options.input, true));
  TALLY_TRY(sum, merge_profiles(std::move(all.profiles), options.files));
  return write_output(sum, *all.format, options.output);
}

} // namespace

void add_merge(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App &command = add_command(app, "merge", "add up profiles of one format",
                                  "tally merge callgrind.out.* -o all.callgrind");
  add_inputs(command, "IN", options->files, options->input);
  add_output(command, options->output);
  command.callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
