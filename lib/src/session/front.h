// The state that all groups of commands share: the debugger's front end, as the session sees it.
#pragma once

#include <cstdint>

#include <tally/style.h>

#include "report/disassembly.h"
#include "session/action_queue.h"
#include "session/session.h"

namespace tally {

struct Front {
  explicit Front(const DebugEvent &newest) : target(newest) {}

  const DebugEvent &target; // the newest event that the front end has reported; Session sets it
  ActionQueue actions;      // what the front end is asked to do
  uint32_t width = 80;      // columns of the terminal; 0 means any number
  Style style;              // plain unless the front end sets colours
  DisassemblyFlavor flavor = DisassemblyFlavor::att;

  TextOptions text_options(uint32_t limit = 0) const {
    return {.limit = limit, .width = width, .style = style};
  }
};

} // namespace tally
