// Tests that call frame information reaches libdw only if libdw can interpret it with little
// memory, and where functions begin by it; and the numbers of source languages.
#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dwarf.h>
#include <elf.h>
#include <gtest/gtest.h>

#include "symbolize/elf_image.h"
#include "symbolize/source_language.h"
#include "symbolize/unwind/call_frames.h"
#include "symbolize/unwind/frame_entries.h"
#include "symbolize/unwind/starts.h"

namespace tally::symbolize_call_frames_test {
namespace {

using symbolize::CallFrames;
using symbolize::ElfFile;
using symbolize::ElfImage;

constexpr uint64_t section_address = 0x10000, code_start = 0x1000, bytes_of_function = 16;

void put(std::string &to, uint64_t value, size_t bytes) {
  to.append(reinterpret_cast<const char *>(&value), bytes);
}

std::string entry(std::string content) {
  content.resize((content.size() + 3) / 4 * 4, DW_CFA_nop);
  std::string out;
  put(out, content.size(), 4);
  return out + content;
}

// Returns .eh_frame with a function for each of these instructions, which follow those of all
// functions.
std::string eh_frame(std::initializer_list<std::string> functions, const std::string &of_all = {}) {
  std::string cie;
  put(cie, 0, 4);
  cie += '\1';
  cie += std::string("zR\0\1\x78\x10\1", 7); // alignments 1 and -8, return address 16
  cie += static_cast<char>(DW_EH_PE_pcrel | DW_EH_PE_sdata4);
  cie += std::string("\x0c\7\x08\x90\1", 5); // DW_CFA_def_cfa rsp + 8, DW_CFA_offset of the pc
  std::string out = entry(cie + of_all);
  uint64_t start = code_start;
  for (const std::string &instructions : functions) {
    std::string fde;
    put(fde, out.size() + 4, 4);
    put(fde, start - (section_address + out.size() + 8), 4);
    put(fde, bytes_of_function, 4);
    fde += '\0'; // size of augmentation data
    out += entry(fde + instructions);
    start += bytes_of_function;
  }
  put(out, 0, 4);
  return out;
}

CallFrames frames_of(const std::string &section) {
  ElfImage image(ELFCLASS64, false, EM_X86_64);
  image.add(".eh_frame", section, SHT_PROGBITS, section_address);
  const auto file = ElfFile::of_image(image.finish(), "image");
  return file ? CallFrames::of_eh_frame(*file) : CallFrames();
}

bool has_row(CallFrames &frames, uint64_t address) {
  Dwarf_Frame *frame = nullptr;
  Dwarf_CFI *const cfi = frames.cfi_for(address);
  const bool found = cfi && dwarf_cfi_addrframe(cfi, address, &frame) == 0;
  std::free(frame);
  return found;
}

std::vector<bool> rows(const std::string &section, size_t functions) {
  CallFrames frames = frames_of(section);
  std::vector<bool> out;
  for (size_t i = 0; i < functions; ++i)
    out.push_back(has_row(frames, code_start + i * bytes_of_function + 1));
  return out;
}

TEST(CallFrames, HaveNoRowWhereItTakesMuchMemory) {
  const std::string far_register("\x08\xff\xff\xff\x7f", 5), // DW_CFA_same_value
      far_expression = std::string("\x10\xff\xff\x7f\1", 5) + char{DW_OP_lit0},
      states(17, DW_CFA_remember_state), few_states(16, DW_CFA_remember_state),
      long_expression = std::string("\x0f\x81\x20", 3) + std::string(4097, '\x96'),
      unknown("\x3f", 1);
  EXPECT_EQ(rows(eh_frame({"", far_register, few_states, states, far_expression, long_expression,
                           unknown, ""}),
                 8),
            (std::vector<bool>{true, false, true, false, false, false, false, true}));
}

// libdw runs all instructions of an entry for each address.
TEST(CallFrames, HaveNoRowWhereItTakesLong) {
  constexpr size_t most = 1 << 17;
  const auto nops = [](size_t count) { return std::string(count, DW_CFA_nop); };
  EXPECT_EQ(rows(eh_frame({nops(most - 1), nops(most), ""}), 3),
            (std::vector<bool>{true, false, true}));
  EXPECT_EQ(rows(eh_frame({"", ""}, nops(most - 6)), 2), (std::vector<bool>{true, true}));
  EXPECT_EQ(rows(eh_frame({"", ""}, nops(most - 2)), 2), (std::vector<bool>{false, false}));
}

std::string big_endian(std::initializer_list<uint32_t> words) {
  std::string out;
  for (const uint32_t word : words)
    for (const int shift : {24, 16, 8, 0})
      out += static_cast<char>(word >> shift);
  return out;
}

// The functions of a file of 32 bits in the other byte order: at an address, and at a distance
// behind which the address space begins again.
TEST(DescribedFunctions, AreThoseOfAnyByteOrderAndSize) {
  const auto section = [](uint8_t encoding, uint32_t start) {
    return big_endian({16, 0}) +
           std::string("\1zR\0\4\x7c\x41\1", 8) + // alignments 4 and -4, return address 65
           static_cast<char>(encoding) + std::string(3, DW_CFA_nop) +
           big_endian({16, 24, start, 8}) + std::string(4, DW_CFA_nop);
  };
  const auto starts = [](const std::string &bytes) {
    std::vector<uint64_t> out;
    for (const symbolize::Fde &each : symbolize::described_functions({.bytes = bytes,
                                      .address = 0xfffff000,
                                      .swap = std::endian::native == std::endian::little,
                                      .pointer_bytes = 4}))
      out.push_back(each.start);
    return out;
  };
  EXPECT_EQ(starts(section(DW_EH_PE_absptr, 0x81234560)), std::vector<uint64_t>{0x81234560});
  EXPECT_EQ(starts(section(DW_EH_PE_pcrel | DW_EH_PE_sdata4, 0x2000)),
            std::vector<uint64_t>{0x101c});
}

// The search table of such a file is in its byte order, too, and its addresses wrap.
TEST(UnwindStarts, AreReadFromTheSearchTableOfAnyByteOrderAndSize) {
  ElfImage image(ELFCLASS32, true, EM_PPC);
  const std::string table =
      std::string("\1\x1b\3\x3b", 4) + big_endian({0, 2, 0x2000, 0, 0xffffff00, 0});
  image.add(".eh_frame_hdr", table, SHT_PROGBITS, 0xfffff000);
  const auto file = ElfFile::of_image(image.finish(), "image");
  ASSERT_TRUE(file);
  const auto starts = symbolize::UnwindStarts::read(*file);
  EXPECT_EQ(starts.before(0x1004), 0x1000u);
  EXPECT_EQ(starts.before(0xffffef10), 0xffffef00u);
  EXPECT_EQ(starts.before(0xfff), std::nullopt);
}

TEST(SourceLanguage, IsKnownByItsNumber) {
  // C++ 98 to 23.
  for (const int language : {0x04, 0x19, 0x1a, 0x21, 0x2a, 0x2b, 0x3a}) {
    EXPECT_TRUE(symbolize::is_cpp(language)) << language;
    EXPECT_FALSE(symbolize::enumerations_may_have_functions(language)) << language;
  }
  // C 89 to 23, Objective-C and Objective-C++.
  for (const int language : {0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e, 0x10, 0x11}) {
    EXPECT_FALSE(symbolize::is_cpp(language)) << language;
    EXPECT_FALSE(symbolize::enumerations_may_have_functions(language)) << language;
  }
  for (const int language : {-1, 0x16, 0x1c, 0x0d}) { // none, Go, Rust, Ada 95
    EXPECT_FALSE(symbolize::is_cpp(language)) << language;
    EXPECT_TRUE(symbolize::enumerations_may_have_functions(language)) << language;
  }
}

TEST(CallFrames, AreReadAlsoOfAFileWithoutSectionHeaders) {
  std::ifstream in("/proc/self/exe", std::ios::binary | std::ios::ate);
  std::vector<char> bytes(static_cast<size_t>(in.tellg()));
  ASSERT_TRUE(in.seekg(0).read(bytes.data(), std::ssize(bytes)));
  const auto whole = ElfFile::of_image(bytes, "whole");
  Elf64_Ehdr header;
  ASSERT_GE(bytes.size(), sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  const auto stripped = ElfFile::of_image(std::move(bytes), "stripped");
  ASSERT_TRUE(whole && stripped);
  ASSERT_FALSE(stripped->has_section(".eh_frame"));
  CallFrames expected = CallFrames::of_eh_frame(*whole);
  CallFrames got = CallFrames::of_eh_frame(*stripped);
  size_t found = 0;
  for (const symbolize::Segment &segment : whole->code_segments())
    for (uint64_t at = segment.address; at < segment.address + segment.size;
         at += 1 + segment.size / 1000) {
      ASSERT_EQ(has_row(got, at), has_row(expected, at)) << at;
      found += has_row(got, at);
    }
  EXPECT_GT(found, 100u);
}

} // namespace
} // namespace tally::symbolize_call_frames_test
