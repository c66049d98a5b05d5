// Tests the index of DWARF packages, and how damaged packages are handled.
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <dwarf.h>
#include <gtest/gtest.h>

#include "../fuzz/made_dwarf.h"
#include "elf_tables.h"
#include "symbolize/dwp_file.h"
#include "symbolize/dwp_index.h"
#include "symbolize/elf_file.h"
#include "symbolize/elf_image.h"
#include "symbolize/split_unit.h"
#include "symbolize/split_units.h"
#include "temporary.h"

namespace tally::symbolize_package_test {
namespace {

using symbolize::Contribution;
using symbolize::DwpIndex;
using symbolize::PackagePart;

using Units = std::map<uint64_t, std::vector<Contribution>>; // by ID; in the order of the columns

void append(std::string &bytes, uint64_t value, unsigned size, bool swap) {
  for (unsigned i = 0; i < size; ++i)
    bytes += static_cast<char>(value >> 8 * (swap ? size - 1 - i : i));
}

// Writes an index as DWARF 5, section 7.3.5.3, describes it.
std::string index_of_units(const Units &units, const std::vector<uint32_t> &columns, bool version_5,
                           uint32_t slots, bool swap) {
  std::string bytes;
  if (version_5) {
    append(bytes, 5, 2, swap);
    append(bytes, 0, 2, swap);
  } else {
    append(bytes, 2, 4, swap);
  }
  append(bytes, columns.size(), 4, swap);
  append(bytes, units.size(), 4, swap);
  append(bytes, slots, 4, swap);
  std::vector<std::pair<uint64_t, uint32_t>> table(slots);
  uint32_t row = 0;
  for (const auto &[id, parts] : units) {
    uint64_t slot = id & (slots - 1);
    while (table[slot].second != 0)
      slot = (slot + (((id >> 32) & (slots - 1)) | 1)) & (slots - 1);
    table[slot] = {id, ++row};
  }
  for (const auto &entry : table)
    append(bytes, entry.first, 8, swap);
  for (const auto &entry : table)
    append(bytes, entry.second, 4, swap);
  for (const uint32_t column : columns)
    append(bytes, column, 4, swap);
  for (const auto &[id, parts] : units)
    for (const Contribution &part : parts)
      append(bytes, part.offset, 4, swap);
  for (const auto &[id, parts] : units)
    for (const Contribution &part : parts)
      append(bytes, part.size, 4, swap);
  return bytes;
}

Units random_units(std::mt19937_64 &random, size_t count, size_t columns) {
  Units units;
  while (units.size() < count) {
    // Many IDs share a slot, so that the search must step.
    std::vector<Contribution> &parts = units[(random() & 0xffffffff00000003) | 1];
    parts.clear();
    for (size_t i = 0; i < columns; ++i)
      parts.push_back({random() & 0xffffffff, random() & 0xffffffff});
  }
  return units;
}

TEST(PackageIndex, finds_each_unit_and_no_other) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const bool version_5 = round % 2;
    const bool swap = round % 4 >= 2;
    // INFO, ABBREV, STR_OFFSETS, LINE, and 8, which is RNGLISTS in version 5 alone.
    const std::vector<uint32_t> columns = {1, 3, 6, 4, 8};
    const Units units = random_units(random, random() % 30, columns.size());
    const std::string bytes = index_of_units(units, columns, version_5, 64, swap);
    const auto index = DwpIndex::read(bytes, swap, {".debug_cu_index", 0});
    ASSERT_TRUE(index) << index.error().text();
    EXPECT_EQ(index->unit_count(), units.size());
    for (const auto &[id, parts] : units) {
      const auto row = index->find(id);
      ASSERT_TRUE(row && *row);
      const auto expect = [&](PackagePart part, const Contribution &expected) {
        const Contribution &found = (**row)[static_cast<size_t>(part)];
        EXPECT_EQ(found.offset, expected.offset);
        EXPECT_EQ(found.size, expected.size);
      };
      expect(PackagePart::info, parts[0]);
      expect(PackagePart::abbrev, parts[1]);
      expect(PackagePart::str_offsets, parts[2]);
      expect(PackagePart::rnglists, version_5 ? parts[4] : Contribution{});
    }
    for (int other = 0; other < 20; ++other) {
      const uint64_t id = random();
      const auto row = index->find(id);
      ASSERT_TRUE(row);
      EXPECT_EQ(row->has_value(), units.count(id) == 1);
    }
  }
}

TEST(PackageIndex, ends_in_a_table_that_is_full) {
  std::mt19937_64 random(8);
  const Units units = random_units(random, 8, 1);
  const std::string bytes = index_of_units(units, {1}, true, 8, false);
  const auto index = DwpIndex::read(bytes, false, {".debug_cu_index", 0});
  ASSERT_TRUE(index);
  const auto row = index->find(0x1234567800000000); // even, which no unit has
  ASSERT_TRUE(row);
  EXPECT_FALSE(*row);
}

TEST(PackageIndex, names_the_defect_and_its_offset) {
  const Units units = {{0x101, {{0, 10}}}};
  const std::string good = index_of_units(units, {1}, true, 2, false);
  const auto error = [&](size_t at, char value, size_t size) {
    std::string bytes = good.substr(0, size);
    if (at < bytes.size())
      bytes[at] = value;
    const auto index = DwpIndex::read(bytes, false, {".debug_cu_index", 0x1000});
    if (index) {
      const auto row = index->find(0x101);
      return row ? std::string() : row.error().text();
    }
    return index.error().text();
  };
  EXPECT_EQ(error(good.size(), 0, good.size()), "");
  EXPECT_EQ(error(99, 0, 15), ":0x1000: .debug_cu_index: the header needs 16 bytes, there are 15");
  EXPECT_EQ(error(0, 9, good.size()), ":0x1000: .debug_cu_index: unknown version 9");
  EXPECT_EQ(error(12, 3, good.size()),
            ":0x100c: .debug_cu_index: the number of slots, 3, is not a power of 2");
  EXPECT_EQ(error(4, 65, good.size()), ":0x1004: .debug_cu_index: 65 sections, of at most 64");
  EXPECT_EQ(error(8, 2, good.size()), ":0x1004: .debug_cu_index: the tables need 60 bytes, there "
                                      "are 52");
  EXPECT_EQ(error(16 + 16 + 4, 2, good.size()), ":0x1024: .debug_cu_index: row 2 of 1");
}

// Whatever the bytes are, reading and searching ends, and stays within the section.
TEST(PackageIndex, survives_damage) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 20000; ++round) {
    const Units units = random_units(random, random() % 6, 3);
    std::string bytes = index_of_units(units, {1, 3, 6}, round % 2, 8, false);
    for (uint64_t i = random() % 4; i > 0; --i)
      bytes[random() % std::min<size_t>(bytes.size(), round % 3 ? bytes.size() : 20)] =
          static_cast<char>(random() % 2 ? random() : random() % 4);
    if (random() % 4 == 0)
      bytes.resize(random() % (bytes.size() + 1));
    // A copy of exactly this size, so that a sanitizer notices a read behind the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const auto index = DwpIndex::read({exact.data(), exact.size()}, false, {".debug_cu_index", 0});
    if (!index)
      continue;
    for (const auto &[id, parts] : units)
      (void)index->find(id);
  }
}

TEST(Package, that_is_no_package_is_an_error) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.dwp";
  EXPECT_FALSE(symbolize::DwpFile::open(path));
  folder.put("a.dwp", "no ELF file");
  const auto opened = symbolize::DwpFile::open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().text(), path + ": is not an ELF file");
}

// Returns .debug_info of a unit with an ID.
std::string info_of(uint8_t type, uint64_t id, std::string_view die, bool swap) {
  std::string info;
  append(info, 16 + die.size(), 4, swap); // what follows
  append(info, 5, 2, swap);
  append(info, type, 1, swap);
  append(info, 8, 1, swap); // the size of an address
  append(info, 0, 4, swap); // in .debug_abbrev
  append(info, id, 8, swap);
  return info.append(die);
}

// libdw does not check that a string ends within its section. Here, .debug_abbrev follows the name
// directly, because the size of .debug_info is a multiple of the alignment.
TEST(SplitUnit, a_name_without_an_end_ends_with_its_section) {
  const auto own = symbolize::ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(own);
  const bool swap = std::endian::native == std::endian::big;
  const std::string info = info_of(DW_UT_split_compile, 77, "\1abc", swap);
  ASSERT_EQ(info.size() % 8, 0u);
  const std::string abbrev{1, DW_TAG_compile_unit, DW_CHILDREN_no, DW_AT_name, DW_FORM_string, 0, 0,
                           0};
  const auto unit = symbolize::make_split_unit(*own, "a.dwo", 77, {info, abbrev, "", "", ""});
  ASSERT_TRUE(unit && *unit);
  EXPECT_STREQ(dwarf_diename(&(*unit)->die), "abc");
}

// GCC writes many sections .debug_info.dwo, and a hostile file lists one many times.
TEST(SplitUnits, are_sought_in_as_many_sections_as_the_size_allows) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.dwo",
                    split = std::string{1, DW_TAG_compile_unit, DW_CHILDREN_no, DW_AT_name} +
                            std::string{DW_FORM_string, 0, 0, 0},
                    skeleton = std::string{1, DW_TAG_skeleton_unit, DW_CHILDREN_no} +
                               std::string{DW_AT_dwo_name, DW_FORM_string, 0, 0, 0},
                    other = info_of(DW_UT_split_compile, 1, '\1' + std::string(1 << 16, 0), false),
                    wanted = info_of(DW_UT_split_compile, 2, {"\1f\0", 3}, false),
                    own = info_of(DW_UT_skeleton, 2, '\1' + path + '\0', false);
  symbolize::ElfImage program(ELFCLASS64, false, EM_X86_64);
  program.add(".debug_info", own);
  program.add(".debug_abbrev", skeleton);
  const MadeUnit unit = MadeUnit::open(program);
  const auto is_found_behind = [&](unsigned sections) {
    symbolize::ElfImage image(ELFCLASS64, false, EM_X86_64);
    image.add(".debug_info.dwo", other);
    image.add(".debug_info.dwo", wanted);
    image.add(".debug_abbrev.dwo", split);
    std::string elf = elf_of(image);
    list_section(elf, 1, sections);
    folder.put("a.dwo", elf);
    Diagnostics findings;
    return symbolize::SplitUnits(unit.file, "program", {}, findings).find(unit.die).has_value();
  };
  EXPECT_TRUE(is_found_behind(30));
  EXPECT_FALSE(is_found_behind(300));
}

} // namespace
} // namespace tally::symbolize_package_test
