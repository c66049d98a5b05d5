// Marks that stand for the missing callers in a truncated chain of addresses.
#pragma once

#include <cstdint>
#include <string_view>

#include <tally/unwinder.h>

namespace tally {

// Returns the mark that is put in place of the outermost caller: a non-canonical address, at which
// there cannot be code.
constexpr uint64_t cut_mark(StackEnd why) {
  return (uint64_t{1} << 63) | static_cast<uint64_t>(why);
}

// Returns the name of a mark in profiles; empty if `pc` is not a mark.
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
