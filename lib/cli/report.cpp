#include "commands.h"

#include <algorithm>
#include <memory>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/formats.h>
#include <tally/report.h>
#include <tally/session.h>

#include "arguments.h"

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
  const auto *stacks = std::get_if<StackProfile>(&read.profile);
  if (!stacks)
    return fail(ErrorCode::unsupported, "holds no stacks to report on", options.file);
  TALLY_TRY(table, flat_table(*stacks, by, sort));
  const std::string text =
      options.json
          ? to_json(table, options.limit.value_or(0))
          : to_text(table, {.limit = options.limit.value_or(20), .width = terminal_width()});
  return write_file("-", text);
}

// "a|b|c"
std::vector<std::string> words_of(std::string_view values) {
  return CLI::detail::split(std::string(values), '|');
}

const CommandSpec &report_command() {
  return *std::ranges::find(profile_commands(), "report", &CommandSpec::name);
}

} // namespace

void add_report(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("report", "print the flat table of a profile");
  command->group("Commands");
  command->footer("Example: tally report out.folded --sort inclusive --limit 10");
  command->add_option("FILE", options->file, "the profile; - is standard input")
      ->type_name("")
      ->required();
  // The debuggers' table of options tells values and help here, too.
  for (const OptionSpec &spec : report_command().options) {
    const std::string name = fmt::format("--{}", spec.name), values(spec.values);
    std::string summary(spec.summary);
    if (!spec.fallback.empty())
      summary += fmt::format(" (default {})", spec.fallback);
    if (spec.name == "by")
      command->add_option(name, options->by, summary)
          ->type_name(values)
          ->check(one_of(words_of(values)));
    else if (spec.name == "sort")
      command->add_option(name, options->sort, summary)
          ->type_name(values)
          ->check(one_of(words_of(values)));
    else if (spec.name == "limit")
      command->add_option(name, options->limit, summary)
          ->type_name(values)
          ->check(whole_number_from(0, UINT32_MAX));
    else if (spec.name == "json")
      command->add_flag(name, options->json, summary)->disable_flag_override();
  }
  command->callback([options, &outcome] {
    if (auto ran = run(*options); !ran)
      outcome.status = complain(ran.error());
  });
}

} // namespace tally::cli
