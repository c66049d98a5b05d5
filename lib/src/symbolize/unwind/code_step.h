// Describes how an instruction of x86-64 changes the registers and the flow of control, which shows
// where a function's caller is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tally::symbolize {

struct CodeStep {
  enum class Kind : uint8_t {
    other,    // goes on with the next instruction
    set,      // to = from + offset
    load,     // to = the word at from + offset
    push,     // sp -= 8; the word there = from
    pop,      // to = the word at sp; sp += 8
    leave,    // sp = fp; pop fp
    returns,  // pops the return address, and `offset` more bytes
    calls,    // goes on with the next instruction, unless the call never returns
    jumps,    // goes on at the target
    branches, // goes on with the next instruction or at the target
    stops,    // goes on at an unknown place, or not at all
  };
  static constexpr uint8_t unknown = 16; // stands for a register whose value is not known
  Kind kind = Kind::stops;
  uint8_t size = 0;         // of the instruction, in bytes
  uint8_t to = 0, from = 0; // registers, by DWARF's numbers
  uint16_t forgets = 0;     // a bit for each register that gets an unknown value
  int32_t offset = 0;       // in bytes
  uint64_t target = 0;      // an address, 0 if it is unknown
  bool is_likely = true;    // false: `returns` may be a jump within the function

  // Returns whether it has no effect but that it goes on with the next instruction.
  bool has_no_effect() const { return kind == Kind::other && forgets == 0; }
};

// The registers that a called function may change: rax, rdx, rcx, rsi, rdi and r8 to r11.
inline constexpr uint16_t lost_by_calls = 0x0f37;

class CodeSteps {
public:
  CodeSteps();
  ~CodeSteps();
  // Decodes the first instruction of `code`, which begins at an address. Returns a step of the kind
  // `stops` if that fails. The first call loads Capstone.
  CodeStep at(std::string_view code, uint64_t address);

  static constexpr size_t longest = 15; // of an instruction of x86-64, in bytes

private:
  struct Decoder;
  std::unique_ptr<Decoder> decoder_;
};

} // namespace tally::symbolize
