#include "commands.h"

#include <memory>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/formats.h>

namespace tally::cli {

namespace {

struct Options {
  std::string input, output;
  bool full_names = false, full_positions = false;
};

Result<void> run(const Options &options) {
  Diagnostics findings;
  TALLY_TRY(read, read_profile(options.input, findings));
  show(findings);
  TALLY_TRY(written, write_profile(read.profile, *read.format,
                                   {.compress_names = !options.full_names,
                                    .compress_positions = !options.full_positions}));
  TALLY_CHECK(write_file(options.output, written.bytes));
  show_lost(*read.format, written);
  return {};
}

} // namespace

void add_rewrite(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "rewrite", "read a profile and write it in the same format: in a fixed order, rows of one\n"
                 "place added up.\nExample: tally rewrite callgrind.out.1 -o sorted.callgrind");
  command->add_option("IN", options->input, "the profile; - is standard input")->required();
  command->add_option("-o", options->output, "what to write; - is standard output")
      ->required()
      ->option_text("OUT");
  command->add_flag("--full-names", options->full_names,
                    "Callgrind: every name in full, no (id) for it");
  command->add_flag("--full-positions", options->full_positions,
                    "Callgrind: every position in full, none relative to the one before");
  command->callback([options, &outcome] { outcome.end(run(*options)); });
}

} // namespace tally::cli
