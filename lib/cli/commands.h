// The commands of `tally`. Each adds itself to the parser.
#pragma once

#include <CLI/CLI.hpp>

#include <tally/diagnostics.h>
#include <tally/result.h>

namespace tally::cli {

// Exit statuses. Other programs rely on these numbers.
enum Exit {
  done = 0,
  input_at_fault = 1,
  command_line_at_fault = 2,
  below_threshold = 3,
  no_data = 4
};

// Set by the command that ran.
struct Outcome {
  int status = done;
  void end(const Result<void> &result);
};

void add_annotate(CLI::App &app, Outcome &outcome);
void add_convert(CLI::App &app, Outcome &outcome);
void add_coverage(CLI::App &app, Outcome &outcome);
void add_diff(CLI::App &app, Outcome &outcome);
void add_gcov(CLI::App &app, Outcome &outcome);
void add_histogram(CLI::App &app, Outcome &outcome);
void add_merge(CLI::App &app, Outcome &outcome);
void add_record(CLI::App &app, Outcome &outcome);
void add_report(CLI::App &app, Outcome &outcome);
void add_rewrite(CLI::App &app, Outcome &outcome);
void add_tree(CLI::App &app, Outcome &outcome);
void add_validate(CLI::App &app, Outcome &outcome);
void add_zero(CLI::App &app, Outcome &outcome);

// Prints a line on standard error. Ignores write errors.
void say(const std::string &line);
// Prints "tally: …" and returns the exit status for the error.
int complain(const Error &error);
// Prints the diagnostics. Prints errors as warnings, because reading continued after them.
void show(const Diagnostics &findings);

// Restores the signal actions that tally was started with, for a program that it starts.
void restore_signals();

} // namespace tally::cli
