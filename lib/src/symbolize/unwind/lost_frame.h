// Finds the frame of a function whose frame pointer is unknown. The stack of a thread that is seen
// from outside, by /proc, has only two known registers: the stack pointer and the pc. Code without
// frame pointers needs no more, but a function that addresses its frame by the frame pointer does,
// as all functions do that are compiled without optimization.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "symbolize/unwind/rows.h"

namespace tally::symbolize {

struct LostFrame {
  uint64_t sp = 0;                // the function's stack pointer at its call
  uint64_t start = 0;             // the function's first address, 0 if it is unknown
  std::string code;               // the function's first bytes, at most prologue_bytes
  const UnwindRow *row = nullptr; // at the call; the CFA is an offset from the frame pointer

  std::function<std::optional<uint64_t>(uint64_t address)> word_at;
  // Returns the bytes of code from an address on; fewer at the end of the code.
  std::function<std::string(uint64_t address, size_t size)> code_at;
  // Returns whether the code at an address needs the frame pointer to find its frame.
  std::function<bool(uint64_t pc)> needs_frame_pointer;

  static constexpr size_t prologue_bytes = 64;
};

struct FoundFrame {
  uint64_t frame_pointer = 0;
  bool guessed = false;
};

// Looks for the function's return address. It is where the function's first instructions imply, if
// the word there is a return address. Otherwise it is above, where an array of variable size ends:
// at the return address of a call to the function's start. Otherwise it may be that of an indirect
// call, or of one through the procedure linkage table, which is a guess. So is a call to the start
// if such a place lies below it. Returns nothing if there is none.
std::optional<FoundFrame> find_lost_frame(const LostFrame &lost);

} // namespace tally::symbolize
