// What stands in a chain of addresses for the callers that are not known.
#pragma once

#include <cstdint>
#include <string_view>

#include <tally/unwinder.h>

namespace tally {

// In place of the outermost caller: an address at which no code can be (not canonical).
constexpr uint64_t cut_mark(StackEnd why) {
  return (uint64_t{1} << 63) | static_cast<uint64_t>(why);
}

// The name it goes by in a profile; empty: no mark.
constexpr std::string_view cut_words(uint64_t pc) {
  switch (pc) {
  case cut_mark(StackEnd::copy_short):
    return "[cut: deeper than the copy of the stack]";
  case cut_mark(StackEnd::unreadable):
    return "[cut: the stack could not be read further]";
  case cut_mark(StackEnd::no_rule):
    return "[cut: no unwind data]";
  case cut_mark(StackEnd::damaged):
    return "[cut: not a stack]";
  default:
    return {};
  }
}

} // namespace tally
