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

#include <tally/export.h>
#include <tally/symbolizer.h>

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

// The general registers in DWARF's numbering. Figure 3.36 of the psABI defines that of x86-64,
// where number 16 is the return address, that is, the pc. "DWARF for the Arm 64-bit Architecture"
// defines that of AArch64: x0 … x30, sp, pc. The psABI of RISC-V defines x0 … x31, which pc follows
// here.
struct Registers {
  std::array<uint64_t, 33> value{};
  Processor processor = this_processor;
  bool only_sp_and_pc = false; // the others are unknown, as of a thread that /proc shows
  uint64_t pc() const { return of(16, 32, 32); }
  uint64_t sp() const { return of(7, 31, 2); }
  uint64_t fp() const { return of(6, 29, 8); }

private:
  uint64_t of(size_t x86_64, size_t aarch64, size_t riscv64) const {
    return value[processor == Processor::x86_64    ? x86_64
                 : processor == Processor::aarch64 ? aarch64
                                                   : riscv64];
  }
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
  // Returns the mapping that contains a pc, or nothing if the address is not code.
  std::function<std::optional<CodeMapping>(uint64_t pc)> mapping_of_pc;
};

// Why unwinding ended.
enum class StackEnd : uint8_t {
  complete,       // it reached the frame without a caller
  dump_too_short, // the stack is deeper than the stack dump, which has the requested size
  unreadable,     // the stack dump is smaller than requested, because the memory could not be read
  no_rule,        // there is no unwind data for a pc, and no valid frame pointer
  damaged, // the chain loops, a caller lies below its callee, or a return address is not code
  guessed, // it reached the frame without a caller, but a caller may be wrong
};

class TALLY_API Unwinder {
public:
  virtual ~Unwinder() = default;
  // Registers the file of a mapping. It reads nothing yet and never fails: code without unwind data
  // is unwound by frame pointers.
  virtual ModuleId module(const ModuleKey &key) = 0;
  // Appends the pcs of a stack, leaf first. A caller's pc is its return address - 1, except in a
  // frame that a signal interrupted. This function and module() are called on the sampler's reader
  // thread, or on a thread that calls the sampler while the reader waits, but never concurrently.
  virtual StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) = 0;
};

// Returns an unwinder that uses call frame information (.eh_frame, .debug_frame) of the processors
// above. The directories hold separate debug files, as in SymbolizerOptions.
TALLY_API std::unique_ptr<Unwinder> make_unwinder(std::vector<std::string> debug_directories = {
                                                      "/usr/lib/debug"});

} // namespace tally
