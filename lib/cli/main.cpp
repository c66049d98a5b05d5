#include "commands.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string_view>

#include <signal.h>

#include <fmt/format.h>

#include <tally/version.h>

#include "arguments.h"

namespace tally::cli {

namespace {
struct sigaction file_too_large_before;
} // namespace

void say(const std::string &line) { std::fputs((line + '\n').c_str(), stderr); }

int complain(const Error &error) {
  say("tally: " + error.text());
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
    say(finding.text());
  }
}

void Outcome::end(const Result<void> &result) {
  if (!result)
    status = complain(result.error());
}

void restore_signals() { ::sigaction(SIGXFSZ, &file_too_large_before, nullptr); }

namespace {
struct Command {
  std::string_view name;
  void (*add)(CLI::App &app, Outcome &outcome);
};
constexpr Command commands[] = {
    {"record", add_record},     {"report", add_report},       {"tree", add_tree},
    {"annotate", add_annotate}, {"histogram", add_histogram}, {"diff", add_diff},
    {"convert", add_convert},   {"merge", add_merge},         {"coverage", add_coverage},
    {"gcov", add_gcov},         {"validate", add_validate},   {"rewrite", add_rewrite},
    {"zero", add_zero},
};

// Adds only the command that the first word names, because adding all of them takes longer than
// processing a small file. Adds all commands for help and error messages, and none for --version.
void add_commands(CLI::App &app, Outcome &outcome, std::string_view first_word) {
  if (first_word == "--version")
    return;
  const auto *const named = std::ranges::find(commands, first_word, &Command::name);
  if (named != std::end(commands))
    return named->add(app, outcome);
  for (const Command &command : commands)
    command.add(app, outcome);
}

bool flushed() {
  if (std::cout && std::fflush(stdout) == 0 && !std::ferror(stdout))
    return true;
  std::perror("tally: cannot write to standard output");
  return false;
}
} // namespace

} // namespace tally::cli

int main(int argc, char **argv) {
  using namespace tally::cli;
  // Without SIGXFSZ, a file that exceeds the size limit causes a write error, which leaves no file
  // behind. SIGPIPE keeps its effect, so that `tally report FILE | head` ends silently.
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &ignored, &file_too_large_before);
  CLI::App app{"Tally counts what a program does: where its time goes, by function, line and\n"
               "call path. It reads perf's recordings, the text of `perf script`, Callgrind's\n"
               "files, gmon.out, pprof's files, folded stacks and coverage counters, compressed\n"
               "or not.",
               "tally"};
  app.set_help_flag("-h,--help", "print this and exit");
  app.set_version_flag("--version", "tally " TALLY_VERSION, "print the version and exit");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->column_width(26);
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->label("REQUIRED", "(required)");
  app.footer("Example: tally record -o out.folded -- ./program && tally report out.folded\n"
             "Type `tally COMMAND --help` for more about a command.");
  app.require_subcommand(1);
  app.fallthrough(false);
  // CLI11 would use the next word as the value of "--option=".
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i)
    if (const std::string_view word = argv[i];
        word.starts_with("--") && word.ends_with('=') && word.find('=') + 1 == word.size()) {
      say(fmt::format("tally: {}: expected a value, found ''", word.substr(0, word.size() - 1)));
      return command_line_at_fault;
    }
  Outcome outcome;
  add_commands(app, outcome, argc > 1 ? argv[1] : "");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0) { // --help, --version
      app.exit(e);
      std::cout.flush();
      return flushed() ? done : input_at_fault;
    }
    const CLI::App &command = command_given(app);
    say(fmt::format("tally: {}\nTry '{}{} --help'.", explain(app, e),
                    &command == &app ? "" : "tally ", command.get_name()));
    return command_line_at_fault;
  } catch (const std::exception &e) {
    say(fmt::format("tally: {}", e.what()));
    return input_at_fault;
  }
  return flushed() ? outcome.status : input_at_fault;
}
