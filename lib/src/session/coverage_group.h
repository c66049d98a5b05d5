// The group of the `coverage` commands, and its state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>

#include "coverage_collect/collect_coverage.h"
#include "live/live_program.h"
#include "report/live_coverage.h"
#include "session/command_line.h"
#include "session/front.h"
#include "session/settings.h"

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

  Result<Reply> event(const DebugEvent &event);
  // Receives the front end's answer to RequestKind::memory, before the action ends.
  void set_memory(std::vector<std::optional<std::string>> contents) {
    answered_ = std::move(contents);
  }
  // Returns the words that complete an argument of `kind`.
  std::vector<std::string> words_of(std::string_view kind) const;

  // Opens the program's memory, or finds what has changed in it. Fails if there is no program that
  // is stopped, or if it has no counters. `command` is named in errors. `then` is called once the
  // front end has reported what only it knows.
  using ThenProgram = std::function<Result<Reply>(Result<live::LiveProgram *> program)>;
  Result<Reply> with_program(const std::string &command, ThenProgram then);
  // Does the same while the program is open, as in a continuation of the functions below.
  Result<live::LiveProgram *> counted_program(const std::string &command);
  // Reads the counters of all objects, for which neither notes nor stacks are needed. `remarks` are
  // complete lines.
  using ThenObjects = std::function<Result<Reply>(std::span<const ObjectFiles> objects,
                                                  const std::string &remarks)>;
  Result<Reply> with_objects(const std::string &command, const ThenObjects &then);
  // Makes the raw profiles of all modules that count source-based.
  using ThenProfiles = std::function<Result<Reply>(std::vector<std::string> profiles)>;
  Result<Reply> with_raw_profiles(const std::string &command, ThenProfiles then);

  // Reads the counters and the stacks. `then` receives them once the front end has answered, or the
  // reason why the stacks are not known.
  using ThenMark = std::function<Result<Reply>(Result<std::shared_ptr<const CounterMark>> now)>;
  Result<Reply> with_counters(const std::string &command, const ThenMark &then);
  // Counts what ran until now, or since a mark. `since` is empty, "mark" or "stop". Files that did
  // not run since then are left out and, with `only_changed`, also functions.
  using Then = std::function<Result<Reply>(const LiveCoverage &shown)>;
  Result<Reply> with_coverage(const std::string &command, std::string since, Then then,
                              bool only_changed = false);

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
  using Step = std::function<Result<void>()>;
  using ThenStep = std::function<Result<Reply>(Result<void> done)>;
  // Calls `step` until it misses no memory that the front end has to report, then calls `then`.
  Result<Reply> with_memory(Step step, ThenStep then, uint32_t rounds = 0);
  Result<Reply> with_open_program(const std::string &command, ThenStep then);
  Result<void> open_local();
  Result<void> open_reported(const std::string &command, std::string_view modules);
  Result<std::shared_ptr<const CounterMark>> before(const std::string &command,
                                                    std::string_view since);
  Result<LiveCoverage> count(live::LiveProgram &program, const CounterMark &now,
                             const CounterMark *before, bool only_changed);
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
  std::optional<std::vector<std::optional<std::string>>> answered_; // of the ranges requested
  live::NotesCache notes_;
  std::vector<std::string> functions_; // the names that the last report knew
};

// Runs the command that has the name of the parsed one.
Result<Reply> run_coverage_command(CoverageGroup &group, const ParsedCommand &command);

} // namespace tally
