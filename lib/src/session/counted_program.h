// The program whose counters the `coverage` commands read from its memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/live_program.h"
#include "session/counter_marks.h"
#include "session/front.h"
#include "session/settings.h"

namespace tally {

class CountedProgram {
public:
  CountedProgram(Front &front, const Settings &settings, CounterMarks &marks)
      : front_(front), settings_(settings), marks_(marks) {}

  // Forgets the program and its marks if an event is about another one.
  void forget_other(const DebugEvent &event);
  void forget();

  // `command` is named in the errors of these functions.

  // Opens the program's memory, or finds what has changed in it. Fails if no program is stopped, or
  // if the program has no counters.
  Result<live::LiveProgram *> open(const std::string &command);
  // Opens it, and reads the counters and the stacks.
  Result<CounterMarkPtr> counters(const std::string &command);
  // Does so in the program that is open.
  Result<CounterMarkPtr> counters_of(live::LiveProgram &program, const std::string &command);
  // Reads the counters of all objects, for which neither notes nor stacks are needed.
  Result<std::vector<ObjectFiles>> objects(const std::string &command);
  // Makes the raw profiles of all modules that count source-based.
  Result<std::vector<std::string>> raw_profiles(const std::string &command);

  // Returns the program that one of these functions has opened.
  live::LiveProgram &opened() { return *program_; }
  // Fails if the debugger was interrupted while it read the memory of the program, or has lost it.
  Result<void> check_memory() { return program_ ? program_->source().failure() : Result<void>(); }
  live::NotesCache &notes(); // with the place that the setting names

private:
  Result<void> find_modules(const std::string &command);
  Result<void> open_local();
  Result<void> open_reported(Debugger::LoadedFiles files);

  Front &front_;
  const Settings &settings_;
  CounterMarks &marks_;
  std::optional<live::LiveProgram> program_;
  std::string opened_;                          // what program_ was opened for
  live::DebuggerSource *by_debugger_ = nullptr; // of program_, if only the front end can read it
  live::NotesCache notes_;
};

} // namespace tally
