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
  Diagnostics findings;
  std::vector<Profile> profiles;
  const Format *format = nullptr;
  for (const std::string &file : options.files) {
    TALLY_TRY(read, read_input(file, options.input, findings));
    if (format && read.format != format)
      return fail(ErrorCode::invalid_input,
                  fmt::format("is {}, but {} is {}: only files of one format are merged",
                              read.format->name, options.files[0], format->name),
                  file);
    format = read.format;
    profiles.push_back(std::move(read.profile));
  }
  show(findings);
  TALLY_TRY(sum, merge_profiles(std::move(profiles), options.files));
  return write_output(sum, *format, options.output);
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
