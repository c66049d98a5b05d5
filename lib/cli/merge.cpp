#include "commands.h"

#include <memory>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/formats.h>
#include <tally/merge.h>

namespace tally::cli {

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string output;
};

Result<void> run(const Options &options) {
  Diagnostics findings;
  std::vector<Profile> profiles;
  const Format *format = nullptr;
  std::string first;
  for (const std::string &input : options.inputs) {
    TALLY_TRY(read, read_profile(input, findings));
    if (format && read.format != format)
      return fail(ErrorCode::invalid_input,
                  fmt::format("is in the format {}, but {} is in {}: only profiles of one format "
                              "are merged",
                              read.format->name, first, format->name),
                  input);
    if (!format)
      first = input;
    format = read.format;
    profiles.push_back(std::move(read.profile));
  }
  show(findings);
  TALLY_TRY(sum, merge_profiles(profiles, options.inputs));
  TALLY_TRY(written, write_profile(sum, *format));
  TALLY_CHECK(write_file(options.output, written.bytes));
  show_lost(*format, written);
  return {};
}

} // namespace

void add_merge(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "merge", "add profiles of one format up.\n"
               "Example: tally merge callgrind.out.1 callgrind.out.2 -o all.callgrind");
  command->add_option("IN", options->inputs, "the profiles; - is standard input")->required();
  command->add_option("-o", options->output, "what to write; - is standard output")
      ->required()
      ->option_text("OUT");
  command->callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
