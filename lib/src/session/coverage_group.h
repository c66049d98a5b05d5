// The group of the `coverage` commands, and its state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coverage_collect/collect_coverage.h"
#include "live/live_program.h"
#include "report/live_coverage.h"
#include "session/command_line.h"
#include "session/front.h"
#include "session/settings.h"
#include "support/diagnostics.h"

namespace tally {

// The counters at one stop, with the stacks of all threads.
struct CounterMark {
  uint64_t generation = 0; // of LiveProgram
  std::vector<live::ModuleIdentity> loaded;
  live::CounterSnapshot snapshot;
  std::vector<live::StoppedThread> threads;
};

// What a command shows.
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

// The members are public for the commands (coverage_commands.cpp), each of which needs several.
class CoverageGroup {
public:
  explicit CoverageGroup(Front &shared_front);

  void event(const DebugEvent &event);
  // Returns the words that complete an argument of `kind`.
  std::vector<std::string> words_of(ValueKind kind) const;

  // `command` is named in the errors of these functions.

  // Opens the program's memory, or finds what has changed in it. Fails if there is no program that
  // is stopped, or if it has no counters.
  Result<live::LiveProgram *> program(const std::string &command);
  // Returns the program that one of these functions has opened.
  live::LiveProgram &opened() { return *program_; }
  // Reads the counters of all objects, for which neither notes nor stacks are needed.
  Result<std::vector<ObjectFiles>> objects(const std::string &command);
  // Makes the raw profiles of all modules that count source-based.
  Result<std::vector<std::string>> raw_profiles(const std::string &command);
  // Reads the counters and the stacks.
  Result<std::shared_ptr<const CounterMark>> counters(const std::string &command);
  // Counts what ran until now, or since a mark. `since` is empty, "mark" or "stop". Files that did
  // not run since then are left out and, with `only_changed`, also functions.
  Result<LiveCoverage> coverage(const std::string &command, std::string_view since,
                                bool only_changed = false);
  // Fails if the debugger was interrupted while it read the memory of the program, or has lost it.
  Result<void> check_memory() { return program_ ? program_->source().failure() : Result<void>(); }
  // Says what the tables leave out, in complete lines.
  std::string remarks() const;

  // Returns whether the next stop makes a mark: "on", or "off" with the reason in parentheses.
  std::string auto_mark() const;
  live::NotesCache &notes(); // with the place that the setting names

  Front &front;
  Settings settings;
  std::shared_ptr<const CounterMark> mark;        // null if there is none
  std::shared_ptr<const CounterMark> last_stop;   // of the newest stop; null if it has none
  std::shared_ptr<const CounterMark> stop_before; // null if last_stop is
  bool resumed_unseen = false; // stop_before is null because nobody saw how the program went on

private:
  Result<void> open(const std::string &command); // and finds the modules
  Result<void> open_local();
  Result<void> open_reported(Debugger::LoadedFiles files);
  Result<std::shared_ptr<const CounterMark>> before(const std::string &command,
                                                    std::string_view since);
  Result<LiveCoverage> count(live::LiveProgram &program, const CounterMark &now,
                             const CounterMark *before, bool only_changed);
  void show_progress(const std::string &text); // throws if the user interrupts
  void make_stop_mark();
  void forget_program();
  bool marks_are_slow() const;

  struct MarkTimes {
    uint64_t newest_ns = 0; // of the newest automatic mark; 0 if there was none
    unsigned slow = 0;      // how many of the newest ones were slow
  };
  MarkTimes mark_times_;
  std::optional<live::LiveProgram> program_;
  std::string opened_;                          // what program_ was opened for
  live::DebuggerSource *by_debugger_ = nullptr; // of program_, if only the front end can read it
  live::NotesCache notes_;
  std::vector<std::string> functions_; // the names that the last report knew
};

} // namespace tally
