#include "commands.h"

#include <cstdio>
#include <string>

#include <signal.h>

#include "support/text.h"

namespace tally::cli {

namespace {
struct sigaction file_too_large_before;
} // namespace

void say(const std::string &text) {
  std::string out;
  for (size_t begin = 0, end = 0; end != text.npos; begin = end + 1) {
    end = text.find('\n', begin);
    out += printable(text.substr(begin, end - begin)) + '\n';
  }
  std::fputs(out.c_str(), stderr);
}

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

void ignore_large_files() {
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &ignored, &file_too_large_before);
}

void restore_signals() { ::sigaction(SIGXFSZ, &file_too_large_before, nullptr); }

} // namespace tally::cli
