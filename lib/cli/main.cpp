#include "commands.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <tally/version.h>

#include "session/command_help.h"
#include "support/exception_text.h"
#include "table.h"

namespace tally::cli {

namespace {
// Says that --help exists; `command` is "" if no command was recognized.
void refer_to_help(std::string_view command) {
  say(fmt::format("Try 'tally {}{}--help'.", command, command.empty() ? "" : " "));
}

Result<void> print(const std::string &text) {
  std::fputs(text.c_str(), stdout);
  return {};
}

Result<void> run_line(std::vector<std::string> words, Outcome &outcome) {
  const std::string_view first = words.empty() ? std::string_view() : words[0];
  if (first == "--version")
    return print("tally " TALLY_VERSION "\n");
  if (first == "-h" || first == "--help")
    return print(tally_help());
  if (first == "help") { // as git and others have it
    if (words.size() == 1)
      return print(tally_help());
    words = {words[1], "--help"};
    return run_line(std::move(words), outcome);
  }
  const CommandSpec *const command = tally_table().find(first);
  if (first.size() > 1 && first.starts_with('-')) {
    outcome.refers_to_help = true;
    return fail(ErrorCode::invalid_argument, "unknown option",
                std::string(first.substr(0, first.find('='))));
  }
  auto parsed = parse_words(tally_table(), std::move(words));
  outcome.refers_to_help = !parsed;
  outcome.command = command ? command->name : std::string_view();
  TALLY_TRY(given, std::move(parsed));
  if (given.wants_help)
    return print(command_help(tally_table(), *command) + "\n");
  return run_command(given, outcome);
}

// Opens /dev/null as each standard stream that is closed: otherwise a file gets its number, and
// messages are written into that file. It cannot be read or written in the direction of the stream,
// so that EBADF is reported as for a closed one. The programs that Tally starts find it closed.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      static_cast<void>(
          ::open("/dev/null", (stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC));
}

bool flushed() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return true;
  std::perror("tally: cannot write to standard output");
  return false;
}
} // namespace

} // namespace tally::cli

int main(int argc, char **argv) {
  using namespace tally::cli;
  occupy_standard_streams();
  // SIGPIPE keeps its effect, so that `tally report FILE | head` ends silently.
  ignore_large_files();
  Outcome outcome;
  try {
    outcome.end(run_line({argv + std::min(argc, 1), argv + argc}, outcome));
    if (outcome.refers_to_help)
      refer_to_help(outcome.command);
  } catch (const std::exception &e) {
    say(fmt::format("tally: {}", tally::exception_text(e)));
    return input_at_fault;
  }
  return flushed() ? outcome.status : input_at_fault;
}
