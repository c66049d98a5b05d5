// The state that all groups of commands share: the debugger's front end, as the session sees it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

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

  TextOptions text_options(uint32_t limit = 0, bool full_names = false) const {
    return {.limit = limit, .width = width, .style = style, .full_names = full_names};
  }
};

// Returns whether a front end can pass a file name within a command of the debugger. A file of
// profiles or of debug information may hold any name.
inline bool can_be_passed(std::string_view file) {
  return std::ranges::none_of(
      file, [](unsigned char c) { return c == '"' || c == '\\' || c < ' ' || c == 0x7F; });
}

} // namespace tally
