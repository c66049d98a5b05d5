#include "commands.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/formats.h>

#include "arguments.h"

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
  TALLY_TRY(to, format_for_output(options.output, options.to, "--to"));
  if (std::ranges::count(options.inputs, "-") > 1)
    return fail(ErrorCode::invalid_argument, "'-' stands more than once: it can be read only once",
                "convert");

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
    say(fmt::format("tally: not in {}: {}", to->name, what));
  return {};
}

} // namespace

void add_convert(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command =
      app.add_subcommand("convert", "read profiles, write their sum in another format");
  command->group("Commands");
  command->footer("Example: tally convert a.folded b.folded.gz -o sum.callgrind");
  command->add_option("IN", options->inputs, "the profiles; - is standard input")
      ->type_name("")
      ->required();
  command->add_option("-o", options->output, "what to write; - is standard output")
      ->type_name("OUT")
      ->check(file_name())
      ->required();
  command->add_option("--from", options->from, "the format of IN, when its content does not tell")
      ->type_name("FORMAT")
      ->check(known_format());
  command->add_option("--to", options->to, "the format of OUT, when its name does not tell")
      ->type_name("FORMAT")
      ->check(known_format());
  command->callback([options, &outcome] {
    if (auto ran = run(*options); !ran)
      outcome.status = complain(ran.error());
  });
}

} // namespace tally::cli
