// Marks that stand for the missing callers in a truncated chain of addresses.
#pragma once

#include <cstdint>
#include <string_view>

#include <tally/unwinder.h>

namespace tally {

// Returns the mark that is put in place of the outermost caller: a non-canonical address, at which
// there cannot be code.
constexpr uint64_t truncation_mark(StackEnd why) {
  return (uint64_t{1} << 63) | static_cast<uint64_t>(why);
}

// Returns the name of a mark in profiles; empty if `pc` is not a mark.
constexpr std::string_view truncation_name(uint64_t pc) {
  switch (pc) {
  case truncation_mark(StackEnd::dump_too_short):
    return "[truncated: deeper than the stack dump]";
  case truncation_mark(StackEnd::unreadable):
    return "[truncated: the stack could not be read further]";
  case truncation_mark(StackEnd::no_rule):
    return "[truncated: no unwind data]";
  case truncation_mark(StackEnd::damaged):
    return "[truncated: not a stack]";
  default:
    return {};
  }
}

} // namespace tally
