// The commands of `tally`.
#pragma once

#include <string>
#include <string_view>

#include "session/command_line.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace tally::cli {

// Exit statuses. Other programs rely on these numbers.
enum Exit {
  done = 0,
  input_at_fault = 1,
  command_line_at_fault = 2,
  below_threshold = 3,
  no_data = 4
};

// What a command has done so far.
struct Outcome {
  int status = done;
  bool refers_to_help = false;   // a line that refers to --help follows the error
  std::string_view command = {}; // the command that was named

  void end(const Result<void> &result); // prints an error, and sets the status
};

// Runs a command that was parsed by its row in tally_table(). The caller passes the result to
// Outcome::end(); a command that continues after an error calls Outcome::end() itself.
using Command = Result<void>(const ParsedCommand &given, Outcome &outcome);
Command run_command; // runs the one of these that the table names (table.cpp)
Command annotate_command, convert_command, coverage_command, diff_command, gcov_command,
    histogram_command, merge_command, record_command, report_command, rewrite_command,
    setup_command, timeline_command, tree_command, validate_command, zero_command;

// Prints a line on standard error. Ignores write errors.
void say(const std::string &line);
// Prints "tally: …" and returns the exit status for the error.
int complain(const Error &error);
// Prints the diagnostics. Prints errors as warnings, because reading continued after them.
void show(const Diagnostics &findings);

// Ignores SIGXFSZ, so that a file that exceeds the size limit causes a write error, which leaves no
// file behind. restore_signals() restores the signal actions that tally was started with, for a
// program that it starts.
void ignore_large_files();
void restore_signals();

} // namespace tally::cli
