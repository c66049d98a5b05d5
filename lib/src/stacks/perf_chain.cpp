#include "stacks/perf_chain.h"

#include <array>
#include <bit>
#include <cerrno>

namespace tally {

namespace {

constexpr int no_register = -1;
// Maps the kernel's numbers of x86-64's registers (asm/perf_regs.h) to DWARF's.
constexpr std::array<int, 24> dwarf_numbers = {
    0,  3,           2,           1,           4,           5,           6,           7,
    16, no_register, no_register, no_register, no_register, no_register, no_register, no_register,
    8,  9,           10,          11,          12,          13,          14,          15};
constexpr uint64_t pc_bit = uint64_t{1} << 8;
// The bits of the data segment registers, which the kernel refuses to sample on x86-64, and all
// higher bits. If one of these bits is set, the mask is that of another processor.
constexpr uint64_t not_x86_64 = 0xf000 | ~uint64_t{0xffffff};
// AArch64's registers have the same numbers as DWARF's: x0 … x30, sp, pc. No other processor has
// exactly these; PowerPC's mask has more. perf adds the length of vectors where there is SVE.
constexpr uint64_t of_aarch64 = (uint64_t{1} << 33) - 1, vector_length = uint64_t{1} << 46;
constexpr uint64_t aarch64_pc_bit = uint64_t{1} << 32;

// RISC-V's registers are pc, x1 … x31. LoongArch has the same mask.
constexpr uint64_t of_riscv64 = (uint64_t{1} << 32) - 1, riscv64_pc_bit = 1;

bool is_of_aarch64(uint64_t mask) { return (mask & ~vector_length) == of_aarch64; }

// Returns the bit of the pc in a mask; 0 if the mask is that of a processor that is not known.
uint64_t pc_bit_of(uint64_t mask) {
  if (std::has_single_bit(mask)) // on any processor, a single register is the pc
    return mask;
  if (is_of_aarch64(mask))
    return aarch64_pc_bit;
  if (mask == of_riscv64)
    return riscv64_pc_bit;
  return (mask & not_x86_64) == 0 ? mask & pc_bit : 0;
}

} // namespace

bool read_registers(const PerfLayout &layout, const PerfSample &sample, Registers &registers) {
  const uint64_t mask = layout.regs_user;
  if (sample.regs_abi != PERF_SAMPLE_REGS_ABI_64)
    return false;
  if (is_of_aarch64(mask)) {
    if (sample.regs.size() < registers.value.size())
      return false;
    registers.processor = Processor::aarch64;
    for (size_t number = 0; number < registers.value.size(); ++number)
      registers.value[number] = sample.regs[number];
    return true;
  }
  if (mask == of_riscv64) {
    constexpr size_t pc = 32;
    if (sample.regs.size() < pc)
      return false;
    registers.processor = Processor::riscv64;
    registers.value[0] = 0;
    for (size_t number = 1; number < pc; ++number)
      registers.value[number] = sample.regs[number];
    registers.value[pc] = sample.regs[0];
    return true;
  }
  if ((mask & not_x86_64) != 0)
    return false;
  registers.processor = Processor::x86_64;
  for (size_t number = 0; number < dwarf_numbers.size(); ++number) {
    if (dwarf_numbers[number] == no_register)
      continue;
    const uint64_t bit = uint64_t{1} << number;
    const auto at = static_cast<size_t>(std::popcount(mask & (bit - 1)));
    if ((mask & bit) == 0 || at >= sample.regs.size())
      return false;
    registers.value[static_cast<size_t>(dwarf_numbers[number])] = sample.regs[at];
  }
  return true;
}

uint64_t user_pc(const PerfLayout &layout, const PerfSample &sample) {
  if (!sample.in_kernel && (layout.sample_type & PERF_SAMPLE_IP) != 0)
    return sample.ip;
  const uint64_t mask = layout.regs_user;
  const uint64_t bit = pc_bit_of(mask);
  const auto at = static_cast<size_t>(std::popcount(mask & (bit - 1)));
  return bit != 0 && at < sample.regs.size() ? sample.regs[at] : 0;
}

// Returns AX; 0, which neither of the callers looks for, if it is unknown.
static int64_t ax_of(const PerfLayout &layout, const PerfSample &sample) {
  constexpr uint64_t ax_bit = 1; // of the mask, in which AX is register 0
  const uint64_t mask = layout.regs_user;
  const bool is_known = (mask & not_x86_64) == 0 && (mask & ax_bit) != 0 && !sample.regs.empty();
  return is_known ? static_cast<int64_t>(sample.regs[0]) : 0;
}

bool is_in_system_call(const PerfLayout &layout, const PerfSample &sample) {
  return ax_of(layout, sample) == -ENOSYS;
}

bool is_interrupted_in_call(const PerfLayout &layout, const PerfSample &sample) {
  // include/linux/errno.h of Linux: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND and
  // ERESTART_RESTARTBLOCK.
  const int64_t ax = ax_of(layout, sample);
  return ax == -512 || ax == -513 || ax == -514 || ax == -516;
}

namespace {

// Calls `visit` with each address of the chain's user part until `visit` returns false.
template <class Visit> void visit_user_part(const PerfSample &sample, Visit &&visit) {
  bool user = false;
  for (size_t i = 0; i < sample.chain.size(); ++i) {
    const uint64_t pc = sample.chain[i];
    if (pc >= static_cast<uint64_t>(PERF_CONTEXT_MAX))
      user = pc == static_cast<uint64_t>(PERF_CONTEXT_USER);
    else if (user && !visit(pc))
      return;
  }
}

} // namespace

void follow(const PerfSample &sample, CallChain &chain) {
  visit_user_part(sample, [&chain](uint64_t pc) {
    if (!chain.empty())
      return chain.caller(pc);
    chain.leaf(pc);
    return true;
  });
}

size_t splice(const PerfSample &sample, CallChain &chain) {
  std::array<uint64_t, 512> seen; // the kernel records at most 127 unless its limit was raised
  size_t count = 0;
  visit_user_part(sample, [&](uint64_t pc) {
    seen[count++] = pc;
    return count < seen.size();
  });
  return chain.splice(std::span(seen).first(count));
}

} // namespace tally
