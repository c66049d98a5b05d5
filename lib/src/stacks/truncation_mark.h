// Marks that stand for the missing callers in a truncated chain of addresses, or for a whole chain.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/unwinder.h"

namespace tally {

// Returns the mark that is put in place of the outermost caller: a non-canonical address, at which
// there cannot be code.
constexpr uint64_t truncation_mark(StackEnd why) {
  return (uint64_t{1} << 63) | static_cast<uint64_t>(why);
}

// These marks are the only address of a wait, or of time in a queue, whose stack nobody saw, and of
// CPU time that the kernel counted but did not sample.
constexpr uint64_t short_wait_mark = (uint64_t{1} << 63) | 0x100;
constexpr uint64_t long_wait_mark = (uint64_t{1} << 63) | 0x101;
constexpr uint64_t unsampled_mark = (uint64_t{1} << 63) | 0x102;
constexpr uint64_t queued_mark = (uint64_t{1} << 63) | 0x103;
constexpr uint64_t shortest_seen_wait_ns = 1'000'000;

// Returns the name of a mark in profiles; empty if `pc` is not a mark.
constexpr std::string_view truncation_name(uint64_t pc) {
  switch (pc) {
  case truncation_mark(StackEnd::dump_too_short):
    return "[truncated: deeper than the stack dump]";
  case truncation_mark(StackEnd::unreadable):
    return "[truncated: the stack could not be read further]";
  case truncation_mark(StackEnd::no_rule):
    return "[truncated: no unwind data]";
  case truncation_mark(StackEnd::guessed):
    return "[callers guessed]";
  case truncation_mark(StackEnd::damaged):
    return "[truncated: not a stack]";
  case short_wait_mark:
    return "[waits under 1 ms]";
  case long_wait_mark:
    return "[waits without a stack]";
  case queued_mark:
    return "[queued without a stack]";
  case unsampled_mark:
    return "[not sampled]";
  default:
    return {};
  }
}

} // namespace tally
