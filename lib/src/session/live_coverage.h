// Counts what the program under the debugger has run, for the `coverage` commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coverage_collect/collect_coverage.h"
#include "report/live_coverage.h"
#include "session/counted_program.h"

namespace tally {

struct LiveCoverage {
  Coverage coverage;
  std::string root; // the directory that contains all sources
  StoppedLines stopped;
  std::vector<ObjectFiles> objects;
  std::vector<ObjectFiles> before; // the same at the mark; empty if there is none
  GivenSourceBased source_based;   // since the mark, if there is one
  std::string remarks;             // complete lines, to show below a table
  std::string uncertain;           // such a line about uncertain counts; may be empty

  // Returns the directory that paths are shown relative to. Below "/", they would only lose their
  // first slash.
  std::string_view shown_root() const { return root == "/" ? std::string_view() : root; }
};

class CoverageReader {
public:
  CoverageReader(Front &front, CountedProgram &program, const CounterMarks &marks)
      : front_(front), program_(program), marks_(marks) {}

  // Counts what ran until now, or since a mark. `since` is empty, "mark" or "stop". Files that did
  // not run since then are left out and, with `only_changed`, also functions. `command` is named in
  // errors.
  Result<LiveCoverage> read(const std::string &command, std::string_view since,
                            bool only_changed = false);
  // Returns the names of the functions that were counted last.
  const std::vector<std::string> &functions() const { return functions_; }

private:
  Result<LiveCoverage> count(live::LiveProgram &program, const CounterMark &now,
                             const CounterMark *before, bool only_changed);
  void show_progress(const std::string &text); // throws if the user interrupts

  Front &front_;
  CountedProgram &program_;
  const CounterMarks &marks_;
  std::vector<std::string> functions_;
};

// Returns an object, or the notes of one, that is older than the source at `path`; empty if none
// is.
std::string older_than(const LiveCoverage &shown, const std::string &path);

// Says what the tables leave out, in complete lines.
std::string remarks_of(const live::LiveProgram &program);

} // namespace tally
