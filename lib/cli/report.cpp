#include "commands.h"

#include <algorithm>
#include <memory>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <tally/formats.h>
#include <tally/report.h>
#include <tally/session.h>

namespace tally::cli {

namespace {

struct Options {
  std::string file;
  std::string by = "function", sort = "self";
  std::optional<uint32_t> limit;
  bool json = false;
};

// A file or a pipe is as wide as names are.
uint32_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Result<void> run(const Options &options) {
  TALLY_TRY(by, by_of(options.by));
  TALLY_TRY(sort, sort_by_of(options.sort));
  Diagnostics findings;
  TALLY_TRY(read, read_profile(options.file, findings));
  show(findings);
  TALLY_TRY(table, std::visit([&](const auto &profile) { return flat_table(profile, by, sort); },
                              read.profile));
  const std::string text =
      options.json
          ? to_json(table, options.limit.value_or(0))
          : to_text(table, {.limit = options.limit.value_or(20), .width = terminal_width()});
  fmt::print("{}", text);
  return {};
}

const CommandSpec &report_command() {
  return *std::ranges::find(profile_commands(), "report", &CommandSpec::name);
}

} // namespace

void add_report(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("report", "print the flat table of a profile");
  command->add_option("FILE", options->file, "the profile; - is standard input")->required();
  // The debuggers' table of options tells values and help here, too.
  for (const OptionSpec &spec : report_command().options) {
    const std::string name = fmt::format("--{}", spec.name), summary(spec.summary);
    if (spec.name == "by")
      command->add_option(name, options->by, summary)->option_text(std::string(spec.values));
    else if (spec.name == "sort")
      command->add_option(name, options->sort, summary)->option_text(std::string(spec.values));
    else if (spec.name == "limit")
      command->add_option(name, options->limit, summary)->option_text(std::string(spec.values));
    else if (spec.name == "json")
      command->add_flag(name, options->json, summary);
  }
  command->callback([options, &outcome] {
    if (auto ran = run(*options); !ran)
      outcome.status = complain(ran.error());
  });
}

} // namespace tally::cli
