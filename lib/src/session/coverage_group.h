// The group of the `coverage` commands. The state of each kind has an owner; the table hands a
// command those that it needs.
#pragma once

#include <string>
#include <vector>

#include "session/command_line.h"
#include "session/counted_program.h"
#include "session/counter_marks.h"
#include "session/coverage_table.h"
#include "session/front.h"
#include "session/live_coverage.h"
#include "session/settings.h"

namespace tally {

struct CoverageGroup {
  explicit CoverageGroup(Front &shared_front) : front(shared_front) {}

  void event(const DebugEvent &event);
  // Returns the words that complete an argument of `kind`.
  std::vector<std::string> words_of(ValueKind kind) const;
  // Performs a command of the table.
  Result<std::string> run(const ParsedCommand &command);

  Front &front;
  Settings settings{coverage_table()};
  CounterMarks marks{front, settings};
  CountedProgram program{front, settings, marks};
  CoverageReader reader{front, program, marks};

private:
  void make_stop_mark();
};

} // namespace tally
