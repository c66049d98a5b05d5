// Tests chains of callers of AArch64 and RISC-V on any machine: those of a file that was recorded
// elsewhere.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <elf.h>

#include <gtest/gtest.h>

#include "model/unwinder.h"
#include "support/strings.h"
#include "temporary.h"

namespace tally::symbolize_unwind_processors_test {
namespace {

struct Machine {
  uint16_t elf;
  int return_address, stack_pointer, frame_pointer; // DWARF's numbers
  int first_rule; // what the second function does with its return address before it saves it
};
constexpr Machine aarch64{EM_AARCH64, 30, 31, 29, 0x2d}; // DW_CFA_AARCH64_negate_ra_state
constexpr Machine riscv64{EM_RISCV, 1, 2, 8, 0};         // DW_CFA_nop

// A file with three functions: one at 0x1000 that calls no other, one at 0x1100 that saves its
// return address, and signs it before on AArch64, and one without a caller at 0x1200.
std::string file_for(const Machine &machine) {
  std::string frames;
  const auto put = [&frames](auto... bytes) { (frames.push_back(static_cast<char>(bytes)), ...); };
  const auto put_word = [](std::string &to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
      to.push_back(static_cast<char>(value >> (8 * i)));
  };
  const auto entry = [&](const std::function<void()> &content) {
    const size_t begin = frames.size();
    put(0, 0, 0, 0);
    content();
    while ((frames.size() - begin) % 8 != 4)
      put(0); // DW_CFA_nop
    frames[begin] = static_cast<char>(frames.size() - begin - 4);
  };
  entry([&] { // the common part: the CFA is the stack pointer; code 4, data -8
    put(0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, machine.return_address, 1, 0x04, 0x0c,
        machine.stack_pointer, 0);
  });
  const auto function = [&](uint64_t begin, std::initializer_list<int> rules) {
    entry([&] {
      put_word(frames, frames.size(), 4);
      put_word(frames, begin, 8);
      put_word(frames, 0x100, 8);
      put(0);
      for (const int rule : rules)
        put(rule);
    });
  };
  function(0x1000, {});
  // After one instruction the address is signed; after another the frame has 32 bytes.
  function(0x1100, {0x41, machine.first_rule, 0x41, 0x0e, 32, 0x80 | machine.frame_pointer, 4,
                    0x80 | machine.return_address, 3});
  function(0x1200, {0x07, machine.return_address}); // DW_CFA_undefined
  put(0, 0, 0, 0);

  const std::string names("\0.eh_frame\0.shstrtab\0", 21);
  std::string out("\177ELF\2\1\1", 7);
  out.resize(16);
  const uint64_t at_frames = 0x400, at_names = at_frames + frames.size();
  const uint64_t at_sections = (at_names + names.size() + 7) / 8 * 8;
  for (const auto &[value, bytes] : std::initializer_list<std::pair<uint64_t, size_t>>{
           {ET_DYN, 2},
           {machine.elf, 2},
           {1, 4},
           {0x1200, 8},
           {64, 8},
           {at_sections, 8},
           {0, 4},
           {64, 2},
           {56, 2},
           {1, 2},
           {64, 2},
           {3, 2},
           {2, 2},
           // One segment with all of the file and the code.
           {PT_LOAD, 4},
           {PF_R | PF_X, 4},
           {0, 8},
           {0, 8},
           {0, 8},
           {0x2000, 8},
           {0x2000, 8},
           {0x1000, 8}})
    put_word(out, value, bytes);
  out.resize(at_frames);
  out += frames + names;
  out.resize(at_sections + 64);
  for (const auto &[value, bytes] :
       std::initializer_list<std::pair<uint64_t, size_t>>{{1, 4},
                                                          {SHT_PROGBITS, 4},
                                                          {SHF_ALLOC, 8},
                                                          {at_frames, 8},
                                                          {at_frames, 8},
                                                          {frames.size(), 8},
                                                          {0, 8},
                                                          {8, 8},
                                                          {0, 8},
                                                          {11, 4},
                                                          {SHT_STRTAB, 4},
                                                          {0, 8},
                                                          {0, 8},
                                                          {at_names, 8},
                                                          {names.size(), 8},
                                                          {0, 8},
                                                          {1, 8},
                                                          {0, 8}})
    put_word(out, value, bytes);
  out.resize(0x2000);
  return out;
}

TEST(SymbolizeUnwindAArch64, StripsSignaturesAndFollowsTheLinkRegister) {
  const TemporaryFolder folder;
  const auto unwinder = make_unwinder();
  const ModuleId module = unwinder->module({folder.put("arm.so", file_for(aarch64)), {}, 0, 0, 0});
  constexpr uint64_t base = 0xaaaa00000000, sp = 0xffffe000;
  UnwindInput input;
  input.registers.processor = Processor::aarch64;
  input.mapping_of_pc = [&](uint64_t pc) -> std::optional<CodeMapping> {
    if (pc < base || pc >= base + 0x2000)
      return std::nullopt;
    return CodeMapping{module, base, base + 0x2000, 0};
  };
  // The frame of the function at 0x1100, with a signature above bit 47.
  const uint64_t words[] = {0xfffff000, (uint64_t{0x2a} << 48) | (base + 0x1244), 0, 0, 0, 0};
  input.stack = std::as_bytes(std::span(words));
  input.registers.value[30] = base + 0x1110;
  input.registers.value[31] = sp;
  const auto unwind = [&](uint64_t pc) {
    input.registers.value[32] = base + pc;
    std::vector<uint64_t> pcs;
    const StackEnd end = unwinder->unwind(input, pcs);
    for (uint64_t &each : pcs)
      each -= base;
    return std::pair(end, pcs);
  };
  using Pcs = std::vector<uint64_t>;
  EXPECT_EQ(unwind(0x1020), std::pair(StackEnd::complete, Pcs{0x1020, 0x110f, 0x1243}));
  EXPECT_EQ(unwind(0x1108), std::pair(StackEnd::complete, Pcs{0x1108, 0x1243}));
  // Before the function saves it, the address is still in x30, signed or not.
  input.registers.value[30] = base + 0x1210;
  EXPECT_EQ(unwind(0x1100), std::pair(StackEnd::complete, Pcs{0x1100, 0x120f}));
  input.registers.value[30] |= uint64_t{0x15} << 48;
  EXPECT_EQ(unwind(0x1104), std::pair(StackEnd::complete, Pcs{0x1104, 0x120f}));
  // Only the innermost function can have it there.
  input.registers.value[30] = base + 0x1010;
  EXPECT_EQ(unwind(0x1000), std::pair(StackEnd::no_rule, Pcs{0x1000, 0x100f}));
  // The file has no rules for another processor.
  input.registers = {};
  input.registers.processor = Processor::x86_64;
  input.registers.value[7] = sp;
  input.registers.value[16] = base + 0x1108;
  std::vector<uint64_t> pcs;
  EXPECT_EQ(unwinder->unwind(input, pcs), StackEnd::no_rule);
  EXPECT_EQ(pcs, (Pcs{base + 0x1108}));
}

// The frame pointer of RISC-V is behind the two words, and a function that calls no other has only
// one of them.
TEST(SymbolizeUnwindRiscV, UsesRulesAndFramePointers) {
  const TemporaryFolder folder;
  const auto unwinder = make_unwinder();
  const ModuleId module = unwinder->module({folder.put("risc.so", file_for(riscv64)), {}, 0, 0, 0});
  constexpr uint64_t base = 0x2aaaaa0000, without_rules = base + 0x2000, sp = 0x3fffe000;
  UnwindInput input;
  input.registers.processor = Processor::riscv64;
  input.mapping_of_pc = [&](uint64_t pc) -> std::optional<CodeMapping> {
    if (pc < base || pc >= base + 0x3000)
      return std::nullopt;
    return pc < without_rules
               ? CodeMapping{module, base, base + 0x2000, 0}
               : CodeMapping{none<ModuleId>, without_rules, without_rules + 0x1000, 0};
  };
  const auto unwind = [&](uint64_t pc, std::span<const uint64_t> words) {
    input.stack = std::as_bytes(words);
    input.registers.value[2] = sp;
    input.registers.value[32] = base + pc;
    std::vector<uint64_t> pcs;
    const StackEnd end = unwinder->unwind(input, pcs);
    for (uint64_t &each : pcs)
      each -= base;
    return std::pair(end, pcs);
  };
  using Pcs = std::vector<uint64_t>;
  input.registers.value[1] = base + 0x1110;
  const uint64_t saved[] = {0x3ffff000, base + 0x1244, 0, 0, 0, 0};
  EXPECT_EQ(unwind(0x1020, saved), std::pair(StackEnd::complete, Pcs{0x1020, 0x110f, 0x1243}));

  // A leaf of 16 bytes, a frame of 32 bytes, and a function with rules.
  const uint64_t frames[] = {0, sp + 48, 0, 0, sp + 80, base + 0x1210, 0, 0};
  input.registers.value[1] = base + 0x2110;
  input.registers.value[8] = sp + 16;
  EXPECT_EQ(unwind(0x2020, frames), std::pair(StackEnd::complete, Pcs{0x2020, 0x210f, 0x120f}));
}

// The kernel's frame of a signal has a siginfo_t of 128 bytes and an ucontext_t, whose registers
// begin with the pc.
TEST(SymbolizeUnwindRiscV, StepsOverASignal) {
  const TemporaryFolder folder;
  const auto unwinder = make_unwinder();
  const ModuleId module = unwinder->module({folder.put("risc.so", file_for(riscv64)), {}, 0, 0, 0});
  constexpr uint64_t base = 0x2aaaaa0000, sp = 0x3fffe000;
  UnwindInput input;
  input.registers.processor = Processor::riscv64;
  input.mapping_of_pc = [&](uint64_t pc) -> std::optional<CodeMapping> {
    if (pc < base || pc >= base + 0x3000)
      return std::nullopt;
    return CodeMapping{pc < base + 0x2000 ? module : none<ModuleId>, base, base + 0x2000, 0};
  };
  std::vector<uint64_t> words(304 / 8 + 32, 0);
  words[304 / 8] = base + 0x1020;     // the pc: in a function whose caller is in x1
  words[304 / 8 + 1] = base + 0x1210; // x1
  words[304 / 8 + 2] = sp + 4096;     // x2
  words[304 / 8 + 4] = 0x3ff0000000;  // x4
  input.stack = std::as_bytes(std::span(words));
  input.registers.value[2] = sp;
  input.registers.value[32] = base + 0x2004; // the code that ends the handler
  std::vector<uint64_t> pcs;
  EXPECT_EQ(unwinder->unwind(input, pcs), StackEnd::complete);
  EXPECT_EQ(pcs, (std::vector<uint64_t>{base + 0x2004, base + 0x1020, base + 0x120f}));

  // Other stacks may have zeros and a return address at the same places.
  words[304 / 8 + 4] = 0;
  pcs.clear();
  EXPECT_EQ(unwinder->unwind(input, pcs), StackEnd::no_rule);
  EXPECT_EQ(pcs, (std::vector<uint64_t>{base + 0x2004}));
}

} // namespace
} // namespace tally::symbolize_unwind_processors_test
