// The state that all groups of commands share: the debugger, as the session sees it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "report/disassembly.h"
#include "report/style.h"
#include "session/debugger.h"
#include "session/session.h"

namespace tally {

struct Front {
  Front(Debugger &asked, const DebugEvent &newest) : debugger(asked), target(newest) {}

  Debugger &debugger;
  const DebugEvent &target; // the newest event that the front end has reported; Session sets it
  bool in_event = false;    // whether an event is handled, and not a command; Session sets it
  uint32_t width = 80;      // columns of the terminal; 0 means any number
  Style style;              // plain unless the front end sets colours
  DisassemblyFlavor flavor = DisassemblyFlavor::att;

  TextOptions text_options(uint32_t limit = 0, bool full_names = false) const {
    return {.limit = limit, .width = width, .style = style, .full_names = full_names};
  }

  // Calls a function of the debugger. Calls it once more if the user interrupts it while an event
  // is handled, because nobody can repeat an event.
  template <class Answer, class... Parameters, class... Arguments>
  Answer ask(Answer (Debugger::*function)(Parameters...), const Arguments &...arguments) {
    Answer answer = (debugger.*function)(arguments...);
    if (!answer && is_interrupted(answer.error()) && in_event)
      answer = (debugger.*function)(arguments...);
    return answer;
  }
  // Calls a function that undoes something, such as the handling of signals. It is called once more
  // if the user interrupts it. Returns false if the user interrupts that, too. Why the debugger
  // does not undo it concerns no command.
  bool undo(Result<void> (Debugger::*function)()) {
    const auto is_over = [&] {
      const auto done = (debugger.*function)();
      return done || !is_interrupted(done.error());
    };
    return is_over() || is_over();
  }
};

// Returns whether a front end can pass a file name within a command of the debugger. A file of
// profiles or of debug information may hold any name.
inline bool can_be_passed(std::string_view file) {
  return std::ranges::none_of(
      file, [](unsigned char c) { return c == '"' || c == '\\' || c < ' ' || c == 0x7F; });
}

} // namespace tally
