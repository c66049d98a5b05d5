#include "commands.h"

#include <memory>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/formats.h>

namespace tally::cli {

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string output, from, to;
};

Result<void> run(const Options &options) {
  const Format *from = nullptr;
  if (!options.from.empty()) {
    TALLY_TRY(named, format_by_name(options.from));
    from = named;
  }
  const Format *to = format_by_file_name(options.output);
  if (!options.to.empty()) {
    TALLY_TRY(named, format_by_name(options.to));
    to = named;
  }
  if (!to)
    return fail(ErrorCode::invalid_argument,
                "the file's name tells no format: add --to callgrind, or another", options.output);

  std::optional<StackProfileBuilder> sum;
  Diagnostics findings;
  for (const std::string &input : options.inputs) {
    TALLY_TRY(read, read_profile(input, findings, from));
    auto *stacks = std::get_if<StackProfile>(&read.profile);
    if (!stacks)
      return fail(ErrorCode::unsupported, "holds no stacks to convert", input);
    if (!sum)
      sum.emplace(std::move(*stacks));
    else
      TALLY_CHECK(append(*sum, *stacks));
  }
  show(findings);
  TALLY_TRY(profile, sum->finish());
  TALLY_TRY(written, write_profile(std::move(profile), *to));
  TALLY_CHECK(write_file(options.output, written.bytes));
  for (const std::string &what : written.lost)
    fmt::print(stderr, "tally: not in {}: {}\n", to->name, what);
  return {};
}

} // namespace

void add_convert(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      app.add_subcommand("convert", "read profiles, write their sum in another format");
  command->add_option("IN", options->inputs, "the profiles; - is standard input")->required();
  command->add_option("-o", options->output, "what to write; - is standard output")
      ->required()
      ->option_text("OUT");
  command->add_option("--from", options->from, "the format of IN, when its content does not tell");
  command->add_option("--to", options->to, "the format of OUT, when its name does not tell");
  command->callback([options, &outcome] {
    if (auto ran = run(*options); !ran)
      outcome.status = complain(ran.error());
  });
}

} // namespace tally::cli
