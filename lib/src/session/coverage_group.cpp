#include "session/coverage_group.h"

#include <chrono>
#include <utility>

namespace tally {

void CoverageGroup::event(const DebugEvent &event) {
  switch (event.kind) {
  case EventKind::target:
    program.forget_other(event);
    break;
  case EventKind::resumed:
    marks.resumed(event.unseen);
    break;
  case EventKind::exited:
  case EventKind::signalled:
  case EventKind::killed:
  case EventKind::detached:
    program.forget();
    break;
  case EventKind::breakpoint:
  case EventKind::watchpoint:
  case EventKind::catchpoint:
  case EventKind::signal:
  case EventKind::step:
  case EventKind::other:
    if (marks.automatic() == "on" && event.target == TargetKind::native)
      make_stop_mark();
    else
      marks.forget_stops();
    break;
  }
}

// Errors are not shown: most programs have no counters.
void CoverageGroup::make_stop_mark() {
  CounterMarkPtr previous = marks.forget_stops();
  if (!program.open("coverage"))
    return;
  const auto began = std::chrono::steady_clock::now(); // the layout is known now
  auto now = program.counters("coverage");
  marks.add_time(std::chrono::steady_clock::now() - began);
  if (now)
    marks.add_stop(std::move(previous), std::move(*now));
}

std::vector<std::string> CoverageGroup::words_of(ValueKind kind) const {
  return kind == ValueKind::function ? reader.functions() : std::vector<std::string>();
}

} // namespace tally
