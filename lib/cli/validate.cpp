#include "commands.h"

#include <memory>

#include <fmt/format.h>

#include <tally/formats.h>

namespace tally::cli {

namespace {

struct Options {
  std::vector<std::string> files;
  std::string from;
};

// Findings go to standard output: they are what was asked for. True: no error.
Result<bool> is_valid(const std::string &file, const Format *from) {
  Diagnostics findings;
  const auto read = read_profile(file, findings, from);
  for (const Finding &finding : findings.findings())
    fmt::print("{}\n", finding.text());
  if (read)
    return !findings.has_errors();
  const Error &error = read.error();
  if (error.code == ErrorCode::io || error.code == ErrorCode::permission ||
      error.code == ErrorCode::not_found)
    return fail(error);
  fmt::print("{}\n", Finding{Severity::error, error.message, error.source, error.where, 1}.text());
  return false;
}

Result<int> run(const Options &options) {
  const Format *from = nullptr;
  if (!options.from.empty()) {
    TALLY_TRY(named, format_by_name(options.from));
    from = named;
  }
  int status = 0;
  for (const std::string &file : options.files) {
    const auto valid = is_valid(file, from);
    if (!valid)
      status = complain(valid.error());
    else if (!*valid && status == 0)
      status = input_at_fault;
  }
  return status;
}

} // namespace

void add_validate(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "validate",
      "print everything that is wrong with files, a line each; nothing for a sound one.\n"
      "Ends with 1 where there is an error.\n"
      "Example: tally validate callgrind.out.*");
  command->add_option("FILE", options->files, "the files; - is standard input")->required();
  command->add_option("--from", options->from, "their format, when their content does not tell");
  command->callback([options, &outcome] {
    const auto ran = run(*options);
    outcome.status = ran ? *ran : complain(ran.error());
  });
}

} // namespace tally::cli
