#include "commands.h"

#include <cstdio>

#include <fmt/format.h>

#include <tally/version.h>

namespace tally::cli {

int complain(const Error &error) {
  fmt::print(stderr, "tally: {}\n", error.text());
  switch (error.code) {
  case ErrorCode::invalid_argument:
    return command_line_at_fault;
  case ErrorCode::no_data:
    return no_data;
  default:
    return input_at_fault;
  }
}

void show(const Diagnostics &findings) {
  for (Finding finding : findings.findings()) {
    if (finding.severity == Severity::error)
      finding.severity = Severity::warning;
    fmt::print(stderr, "{}\n", finding.text());
  }
}

void show_lost(const Format &format, const Written &written) {
  for (const std::string &what : written.lost)
    fmt::print(stderr, "tally: not in {}: {}\n", format.name, what);
}

void Outcome::end(const Result<void> &result) {
  if (!result)
    status = complain(result.error());
}

} // namespace tally::cli

int main(int argc, char **argv) {
  using namespace tally::cli;
  CLI::App app{"Tally counts what a program does: where its time goes, by function, line and call "
               "path.",
               "tally"};
  app.set_version_flag("--version", "tally " TALLY_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  Outcome outcome;
  add_record(app, outcome);
  add_report(app, outcome);
  add_convert(app, outcome);
  add_merge(app, outcome);
  add_rewrite(app, outcome);
  add_validate(app, outcome);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0)
      return app.exit(e); // --help, --version
    fmt::print(stderr, "tally: {}\nTry `tally --help`.\n", e.what());
    return command_line_at_fault;
  } catch (const std::exception &e) {
    fmt::print(stderr, "tally: {}\n", e.what());
    return input_at_fault;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::perror("tally: cannot write to standard output");
    return input_at_fault;
  }
  return outcome.status;
}
