// The commands of `tally`. Each adds itself to the parser and is one function of its options.
#pragma once

#include <CLI/CLI.hpp>

#include <tally/diagnostics.h>
#include <tally/result.h>

namespace tally::cli {

// What the shell sees (also for other programs: these numbers are fixed).
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

// A line on standard error. Where nobody reads it any more, the work goes on.
void say(const std::string &line);
// Says "tally: …"; the status that goes with the error.
int complain(const Error &error);
// Findings that reading went on after are warnings, whatever a validator calls them.
void show(const Diagnostics &findings);

// For a program that is run: as they were when we were.
void restore_signals();

} // namespace tally::cli
