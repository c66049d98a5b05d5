// What the unwinder has to know about each processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/unwinder.h"

namespace tally::symbolize {

inline constexpr size_t most_kept_registers = 12;

// Registers have DWARF's numbers.
struct UnwindMachine {
  Processor processor = Processor::x86_64;
  RegisterNumbers number = register_numbers(processor);
  // The register that holds it according to call frame information: the pc, where a call pushes the
  // address.
  uint8_t return_address = 0;
  uint8_t register_count = 0; // those that call frame information describes
  uint8_t kept_count = 0;     // the callee-saved registers, without the stack pointer
  std::array<uint8_t, most_kept_registers> kept{};
  // Where code has frame pointers, the caller's frame pointer and the return address are two words
  // at this distance from the frame pointer.
  int8_t frame_record = 0;
  // The bits of an address of user space. The others of a return address may hold its signature
  // (pointer authentication of AArch64).
  uint64_t address_bits = 0;
};

// Figure 3.36 of the System V ABI for x86-64; addresses with page tables of five levels.
inline constexpr UnwindMachine x86_64{.processor = Processor::x86_64,
                                      .return_address = 16,
                                      .register_count = 17,
                                      .kept_count = 6,
                                      .kept = {3, 6, 12, 13, 14, 15},
                                      .address_bits = (uint64_t{1} << 56) - 1};
// "DWARF for the Arm 64-bit Architecture", section 4.1, and the procedure call standard, 6.1.1.
// Linux gives out addresses of more than 48 bits only to a program that asks for them.
inline constexpr UnwindMachine aarch64{.processor = Processor::aarch64,
                                       .return_address = 30,
                                       .register_count = 32,
                                       .kept_count = 11,
                                       .kept = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29},
                                       .address_bits = (uint64_t{1} << 48) - 1};

// "RISC-V ABIs Specification", the DWARF register numbers and the integer calling convention;
// addresses with page tables of five levels.
inline constexpr UnwindMachine riscv64{.processor = Processor::riscv64,
                                       .return_address = 1,
                                       .register_count = 32,
                                       .kept_count = 12,
                                       .kept = {8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27},
                                       .frame_record = -16,
                                       .address_bits = (uint64_t{1} << 56) - 1};

constexpr const UnwindMachine &machine_of(Processor processor) {
  switch (processor) {
  case Processor::aarch64:
    return aarch64;
  case Processor::riscv64:
    return riscv64;
  case Processor::x86_64:
    break;
  }
  return x86_64;
}

} // namespace tally::symbolize
