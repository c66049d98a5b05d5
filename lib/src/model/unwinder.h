// Unwinds a stack from registers and a stack dump: the interface that a sampler calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/symbolizer.h"

namespace tally {

// The processors whose stacks can be unwound, on any of them.
enum class Processor : uint8_t { x86_64, aarch64, riscv64 };
#if defined(__aarch64__)
inline constexpr Processor this_processor = Processor::aarch64;
#elif defined(__riscv)
inline constexpr Processor this_processor = Processor::riscv64;
#else
inline constexpr Processor this_processor = Processor::x86_64;
#endif

// DWARF's numbers of the program counter, the stack pointer and the frame pointer. Figure 3.36 of
// the psABI defines those of x86-64, where number 16 is the return address, that is, the pc. "DWARF
// for the Arm 64-bit Architecture" defines those of AArch64: x0 … x30, sp, pc. The psABI of RISC-V
// defines x0 … x31, which pc follows here.
struct RegisterNumbers {
  uint8_t pc = 0, sp = 0, fp = 0;
};
constexpr RegisterNumbers register_numbers(Processor processor) {
  switch (processor) {
  case Processor::aarch64:
    return {.pc = 32, .sp = 31, .fp = 29};
  case Processor::riscv64:
    return {.pc = 32, .sp = 2, .fp = 8};
  case Processor::x86_64:
    break;
  }
  return {.pc = 16, .sp = 7, .fp = 6};
}

struct Registers {
  std::array<uint64_t, 33> value{}; // by DWARF's numbers
  Processor processor = this_processor;
  bool only_sp_and_pc = false; // the others are unknown, as of a thread that /proc shows
  uint64_t pc() const { return value[register_numbers(processor).pc]; }
  uint64_t sp() const { return value[register_numbers(processor).sp]; }
  uint64_t fp() const { return value[register_numbers(processor).fp]; }
};

// The mapping that contains a pc at the time of the sample.
struct CodeMapping {
  ModuleId module{};
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
};

struct UnwindInput {
  Registers registers;
  std::span<const std::byte> stack; // the stack dump, which begins at registers.sp()
  // What another sample of the thread found from the address `other_at` on. It is used behind the
  // end of the dump if the last three return addresses before the end are the same in both.
  std::span<const std::byte> other;
  uint64_t other_at = 0;
  // Returns the mapping that contains a pc, or nothing if the address is not code.
  std::function<std::optional<CodeMapping>(uint64_t pc)> mapping_of_pc;
};

// Why unwinding ended.
enum class StackEnd : uint8_t {
  complete,       // it reached the frame without a caller
  dump_too_short, // the stack is deeper than the stack dump, which has the requested size
  unreadable,     // the stack dump is smaller than requested, because the memory could not be read
  no_rule,        // without unwind data for a pc, neither its code nor a frame pointer shows more
  damaged, // the chain loops, a caller lies below its callee, or a return address is not code
  guessed, // it reached the frame without a caller, but a caller may be wrong
  joined,  // it reached the frame without a caller, by what another sample found
};

constexpr bool is_truncated(StackEnd end) {
  return end != StackEnd::complete && end != StackEnd::joined;
}

class Unwinder {
public:
  virtual ~Unwinder() = default;
  // Registers the file of a mapping. It reads nothing yet and never fails: code of a file that
  // cannot be read is unwound by frame pointers.
  virtual ModuleId module(const ModuleKey &key) = 0;
  // Appends the pcs of a stack, leaf first. A caller's pc is its return address - 1, except in a
  // frame that a signal interrupted. This function and module() are called on the sampler's reader
  // thread, or on a thread that calls the sampler while the reader waits, but never concurrently.
  virtual StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) = 0;
};

// Returns an unwinder that uses call frame information (.eh_frame, .debug_frame) of the processors
// above and, where there is none, the code of x86-64 itself if Capstone is there. The directories
// and sources are those of SymbolizerOptions.
std::unique_ptr<Unwinder>
make_unwinder(std::vector<std::string> debug_directories = {"/usr/lib/debug"},
              ModuleSources sources = {});

} // namespace tally
