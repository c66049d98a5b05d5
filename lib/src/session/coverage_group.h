// The group of the `coverage` commands, and its state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  uint64_t generation = 0; // of LiveProgram: the marks of an older layout are of no use
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
  std::string remarks;             // complete lines, to show below a table
};

// The members are public for the commands (coverage_commands.cpp), each of which needs several.
class CoverageGroup {
public:
  explicit CoverageGroup(Front &shared_front);

  Result<Reply> event(const DebugEvent &event);
  // Returns the words that complete an argument of `kind`.
  std::vector<std::string> words_of(std::string_view kind) const;

  // Opens the program's memory, or finds what has changed in it. Fails if there is no program that
  // is stopped, or if it has no counters. `command` is named in errors.
  Result<live::LiveProgram *> program(const std::string &command);

  // Reads the counters and the stacks. `then` receives them once the front end has answered, or the
  // reason why the stacks are not known.
  using ThenMark = std::function<Result<Reply>(Result<std::shared_ptr<const CounterMark>> now)>;
  Result<Reply> with_counters(const std::string &command, ThenMark then);
  // Counts what ran until now, or since a mark. `since` is empty, "mark" or "stop".
  using Then = std::function<Result<Reply>(const LiveCoverage &shown)>;
  Result<Reply> with_coverage(const std::string &command, std::string since, Then then);

  // Returns whether the next stop makes a mark: "on", or "off" with the reason in parentheses.
  std::string auto_mark() const;
  live::NotesCache &notes(); // with the place that the setting names

  Front &front;
  Settings settings;
  std::shared_ptr<const CounterMark> mark;      // null if there is none
  std::shared_ptr<const CounterMark> last_stop; // of the newest stop
  std::shared_ptr<const CounterMark> stop_before;
  std::vector<std::string> unloaded; // objects that were unloaded with their counters

private:
  Result<LiveCoverage> count(live::LiveProgram &program, const CounterMark &now,
                             const CounterMark *before);
  void make_stop_mark();
  void forget_process();
  bool marks_are_slow() const;

  struct MarkTimes {
    uint64_t newest_ns = 0; // of the newest automatic mark; 0 if there was none
    unsigned slow = 0;      // how many of the newest ones were slow
  };
  MarkTimes mark_times_;
  std::optional<live::LiveProgram> program_;
  live::NotesCache notes_;
  std::vector<std::string> functions_; // the names that the last report knew
};

// Runs the command that has the name of the parsed one.
Result<Reply> run_coverage_command(CoverageGroup &group, const ParsedCommand &command);

} // namespace tally
