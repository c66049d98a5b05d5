// Finds the frame of a function whose frame pointer is unknown. The stack of a thread that is seen
// from outside, by /proc, has only two known registers: the stack pointer and the pc. Code without
// frame pointers needs no more, but a function that addresses its frame by the frame pointer does,
// as all functions do that are compiled without optimization.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "symbolize/unwind/rows.h"

namespace tally::symbolize {

struct LostFrame {
  uint64_t sp = 0;                // the function's stack pointer at its call
  uint64_t start = 0;             // the function's first address, 0 if it is unknown
  std::string code;               // the function's code up to the call, at most most_code_bytes
  const UnwindRow *row = nullptr; // at the call; the CFA is an offset from the frame pointer

  std::function<std::optional<uint64_t>(uint64_t address)> word_at;
  // Returns the bytes of code from an address on; fewer at the end of the code.
  std::function<std::string(uint64_t address, size_t size)> code_at;
  // Returns whether the code at an address needs the frame pointer to find its frame.
  std::function<bool(uint64_t pc)> needs_frame_pointer;

  static constexpr size_t most_code_bytes = size_t{64} << 10;
};

struct FoundFrame {
  uint64_t frame_pointer = 0;
  bool guessed = false;
};

// Looks for the function's return address. It is where the function's first instructions imply, if
// the word there is a return address, and if the function changes its stack pointer nowhere else.
// Otherwise, because of an array of variable size, for example, it is further up: at the return
// address of a call of the function's start, or else at that of an indirect call or of one through
// the procedure linkage table. That is a guess, because the stack also has the return addresses of
// earlier calls. Returns nothing if there is none.
std::optional<FoundFrame> find_lost_frame(const LostFrame &lost);

// Returns whether the instruction before an address may be a call, given the `longest_call` bytes
// before it.
inline constexpr size_t longest_call = 7;
bool ends_with_call(std::string_view code);

} // namespace tally::symbolize
