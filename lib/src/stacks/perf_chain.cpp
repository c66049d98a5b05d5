#include "stacks/perf_chain.h"

#include <array>
#include <bit>
#include <cerrno>
#include <numeric>
#include <span>

namespace tally {

namespace {

constexpr int no_register = -1;

// The registers of a processor as the kernel numbers them (asm/perf_regs.h).
struct SampledRegisters {
  Processor processor;
  unsigned pc;                        // the kernel's number
  std::span<const int> dwarf_numbers; // by the kernel's number
};

constexpr std::array<int, 24> x86_64_numbers = {
    0,  3,           2,           1,           4,           5,           6,           7,
    16, no_register, no_register, no_register, no_register, no_register, no_register, no_register,
    8,  9,           10,          11,          12,          13,          14,          15};
// x0 … x30, sp, pc have the same numbers as in DWARF.
constexpr auto aarch64_numbers = [] {
  std::array<int, 33> numbers{};
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}();
// The kernel has pc in the place of x0, which is always 0.
constexpr auto riscv64_numbers = [] {
  std::array<int, 32> numbers{};
  std::iota(numbers.begin(), numbers.end(), 0);
  numbers[0] = 32;
  return numbers;
}();
constexpr SampledRegisters of_x86_64{Processor::x86_64, 8, x86_64_numbers};
constexpr SampledRegisters of_aarch64{Processor::aarch64, 32, aarch64_numbers};
constexpr SampledRegisters of_riscv64{Processor::riscv64, 0, riscv64_numbers};

// The bits of the data segment registers, which the kernel refuses to sample on x86-64, and all
// higher bits. If one of these bits is set, the mask is that of another processor.
constexpr uint64_t not_x86_64 = 0xf000 | ~uint64_t{0xffffff};

// Returns the registers that a mask stands for; null if its processor is not known.
const SampledRegisters *registers_of(uint64_t mask) {
  // No other processor has exactly the registers of AArch64; PowerPC's mask has more. perf adds the
  // length of vectors where there is SVE.
  constexpr uint64_t vector_length = uint64_t{1} << 46;
  if ((mask & ~vector_length) == (uint64_t{1} << 33) - 1)
    return &of_aarch64;
  if (mask == (uint64_t{1} << 32) - 1) // that of LoongArch, too
    return &of_riscv64;
  return (mask & not_x86_64) == 0 ? &of_x86_64 : nullptr;
}

} // namespace

bool read_registers(const PerfLayout &layout, const PerfSample &sample, Registers &registers) {
  const uint64_t mask = layout.regs_user;
  const SampledRegisters *const sampled = registers_of(mask);
  if (sample.regs_abi != PERF_SAMPLE_REGS_ABI_64 || !sampled)
    return false;
  registers.processor = sampled->processor;
  for (size_t number = 0; number < sampled->dwarf_numbers.size(); ++number) {
    const int dwarf_number = sampled->dwarf_numbers[number];
    if (dwarf_number == no_register)
      continue;
    const uint64_t bit = uint64_t{1} << number;
    const auto at = static_cast<size_t>(std::popcount(mask & (bit - 1)));
    if ((mask & bit) == 0 || at >= sample.regs.size())
      return false;
    registers.value[static_cast<size_t>(dwarf_number)] = sample.regs[at];
  }
  return true;
}

uint64_t user_pc(const PerfLayout &layout, const PerfSample &sample) {
  if (!sample.in_kernel && (layout.sample_type & PERF_SAMPLE_IP) != 0)
    return sample.ip;
  const uint64_t mask = layout.regs_user;
  const SampledRegisters *const sampled = registers_of(mask);
  // If the mask has a single register, that register is the pc, on any processor.
  const uint64_t bit = std::has_single_bit(mask) ? mask
                       : sampled                 ? mask & uint64_t{1} << sampled->pc
                                                 : 0;
  const auto at = static_cast<size_t>(std::popcount(mask & (bit - 1)));
  return bit != 0 && at < sample.regs.size() ? sample.regs[at] : 0;
}

// Returns AX, or nothing if it is unknown.
static std::optional<int64_t> ax_of(const PerfLayout &layout, const PerfSample &sample) {
  constexpr uint64_t ax_bit = 1; // of the mask, in which AX is register 0
  const uint64_t mask = layout.regs_user;
  const bool is_known = (mask & not_x86_64) == 0 && (mask & ax_bit) != 0 && !sample.regs.empty();
  return is_known ? std::optional(static_cast<int64_t>(sample.regs[0])) : std::nullopt;
}

bool is_in_system_call(const PerfLayout &layout, const PerfSample &sample) {
  return ax_of(layout, sample) == -ENOSYS;
}

bool has_returned_zero(const PerfLayout &layout, const PerfSample &sample) {
  return ax_of(layout, sample) == 0;
}

bool is_interrupted_in_call(const PerfLayout &layout, const PerfSample &sample) {
  // include/linux/errno.h of Linux: ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND and
  // ERESTART_RESTARTBLOCK.
  const std::optional<int64_t> ax = ax_of(layout, sample);
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
