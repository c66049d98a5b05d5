#include "commands.h"

#include <array>
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
  By by = By::function;
  SortBy sort = SortBy::self;
  std::optional<uint32_t> limit;
  bool json = false;
};

// A file or a pipe is as wide as names are.
uint32_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Result<void> run(const Options &options) {
  Diagnostics findings;
  TALLY_TRY(read, read_profile(options.file, findings));
  show(findings);
  const auto *stacks = std::get_if<StackProfile>(&read.profile);
  if (!stacks)
    return fail(ErrorCode::unsupported, "holds no stacks to report on", options.file);
  TALLY_TRY(table, flat_table(*stacks, options.by, options.sort));
  const std::string text =
      options.json
          ? to_json(table, options.limit.value_or(0))
          : to_text(table, {.limit = options.limit.value_or(20), .width = terminal_width()});
  fmt::print("{}", text);
  return {};
}

// The debuggers' table of options tells the help texts here, too.
std::string summary_of(std::string_view option) {
  for (const CommandSpec &command : profile_commands())
    if (command.name == "report")
      for (const OptionSpec &spec : command.options)
        if (spec.name == option)
          return std::string(spec.summary);
  return {};
}

} // namespace

void add_report(CLI::App &app, Outcome &outcome) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("report", "print the flat table of a profile");
  command->add_option("FILE", options->file, "the profile; - is standard input")->required();
  const std::map<std::string, By> by{{"function", By::function},
                                     {"line", By::line},
                                     {"object", By::object},
                                     {"thread", By::thread},
                                     {"part", By::part}};
  const std::map<std::string, SortBy> sort{{"self", SortBy::self},
                                           {"inclusive", SortBy::inclusive}};
  command->add_option("--by", options->by, summary_of("by"))
      ->transform(CLI::CheckedTransformer(by))
      ->option_text("function|line|object|thread|part");
  command->add_option("--sort", options->sort, summary_of("sort"))
      ->transform(CLI::CheckedTransformer(sort))
      ->option_text("self|inclusive");
  command->add_option("--limit", options->limit, summary_of("limit"))->option_text("N");
  command->add_flag("--json", options->json, summary_of("json"));
  command->callback([options, &outcome] {
    if (auto ran = run(*options); !ran)
      outcome.status = complain(ran.error());
  });
}

} // namespace tally::cli
