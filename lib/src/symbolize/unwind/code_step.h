// What an instruction of x86-64 does to the registers and to the flow of control, as far as that
// shows where a function's caller is.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tally::symbolize {

struct CodeStep {
  enum class Kind : uint8_t {
    other,    // goes on with the next instruction
    set,      // to = from + offset
    load,     // to = the word at from + offset
    push,     // sp -= 8, and the word there changes
    pop,      // to = the word at sp; sp += 8
    leave,    // sp = fp; pop fp
    returns,  // the return address is at sp
    jumps,    // goes on at the target
    branches, // goes on with the next instruction or at the target
    stops,    // goes on at an unknown place, or not at all
  };
  Kind kind = Kind::stops;
  uint8_t size = 0;         // of the instruction, in bytes
  uint8_t to = 0, from = 0; // registers, by DWARF's numbers
  uint16_t forgets = 0;     // a bit for each register that gets an unknown value
  int32_t offset = 0;       // in bytes
  uint64_t target = 0;      // an address

  // Returns whether it has no effect but that it goes on with the next instruction.
  bool has_no_effect() const { return kind == Kind::other && forgets == 0; }
};

class CodeSteps {
public:
  CodeSteps();
  ~CodeSteps();
  // Decodes the first instruction of `code`, which begins at an address. The kind is `stops` if it
  // cannot be decoded, or if there is no decoder.
  CodeStep at(std::string_view code, uint64_t address);

  static constexpr size_t longest = 15; // of an instruction of x86-64, in bytes

private:
  struct Decoder;
  std::unique_ptr<Decoder> decoder_; // null if there is none
};

} // namespace tally::symbolize
