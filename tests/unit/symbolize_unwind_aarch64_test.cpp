// Tests chains of callers of AArch64 on any machine: those of a file that was recorded elsewhere.
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

#include <tally/unwinder.h>

#include "temporary.h"

namespace tally::symbolize_unwind_aarch64_test {
namespace {

// A file for AArch64 with three functions at 0x1000: one that calls no other, one that signs and
// saves its return address at 0x1100, and one without a caller at 0x1200.
std::string aarch64_file() {
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
  entry([&] { // the common part: the address is in x30, and the CFA is sp; code 4, data -8
    put(0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x04, 0x0c, 31, 0);
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
  function(0x1100, {0x41, 0x2d, 0x41, 0x0e, 32, 0x80 | 29, 4, 0x80 | 30, 3});
  function(0x1200, {0x07, 30}); // DW_CFA_undefined
  put(0, 0, 0, 0);

  const std::string names("\0.eh_frame\0.shstrtab\0", 21);
  std::string out("\177ELF\2\1\1", 7);
  out.resize(16);
  const uint64_t at_frames = 0x400, at_names = at_frames + frames.size();
  const uint64_t at_sections = (at_names + names.size() + 7) / 8 * 8;
  for (const auto &[value, bytes] : std::initializer_list<std::pair<uint64_t, size_t>>{
           {ET_DYN, 2},
           {EM_AARCH64, 2},
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
  const ModuleId module = unwinder->module({folder.put("arm.so", aarch64_file()), {}, 0, 0, 0});
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

} // namespace
} // namespace tally::symbolize_unwind_aarch64_test
