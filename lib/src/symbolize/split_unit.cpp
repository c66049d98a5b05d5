#include "symbolize/split_unit.h"

#include <bit>
#include <utility>

#include <dwarf.h>
#include <gelf.h>

#include "support/hash.h"
#include "symbolize/dwarf_cursor.h"
#include "symbolize/elf_image.h"

namespace tally::symbolize {

namespace {

// Copies the strings that a unit uses, and replaces the offsets of these strings. All units share
// .debug_str.dwo, which may be as large as all their other sections together.
std::string unit_strings(std::string &offsets, std::string_view all, bool is_version_5,
                         bool is_64_bit, bool swap) {
  std::string strings(1, '\0'); // an offset without a string leads to the empty one
  SeededMap<uint64_t, uint64_t> copied;
  DwarfCursor cursor = dwarf_cursor(offsets, swap);
  unsigned offset_size = is_64_bit ? 8 : 4;
  if (is_version_5) { // a header (DWARF 5, section 7.26)
    const bool wide = cursor.fixed<uint32_t>() == UINT32_MAX;
    offset_size = wide ? 8 : 4;
    cursor.skip(wide ? 12 : 4);
  }
  // Offsets into the middle of long strings may stand for more text than the section has.
  const size_t most = all.size();
  while (cursor.good() && cursor.left() >= offset_size) {
    auto *const place = const_cast<unsigned char *>(cursor.at());
    const uint64_t offset = cursor.sized(offset_size);
    auto [known, is_new] = copied.try_emplace(offset, 0);
    if (is_new && offset < all.size()) {
      const std::string_view rest = all.substr(offset);
      const size_t length = rest.find('\0');
      if (length != std::string_view::npos && length <= most && strings.size() <= most - length) {
        known->second = strings.size();
        strings.append(rest.substr(0, length + 1));
      }
    }
    for (unsigned i = 0; i < offset_size; ++i) {
      const bool big = swap == (std::endian::native == std::endian::little);
      place[i] = static_cast<unsigned char>(known->second >> 8 * (big ? offset_size - 1 - i : i));
    }
  }
  return strings;
}

} // namespace

Result<std::unique_ptr<SplitUnit>> make_split_unit(const ElfFile &like, const std::string &path,
                                                   uint64_t id, SplitParts parts) {
  auto unit = std::make_unique<SplitUnit>();
  const bool swap = swaps_bytes(like.elf());
  DwarfCursor header = dwarf_cursor(parts.info, swap);
  const bool is_64_bit = header.fixed<uint32_t>() == UINT32_MAX;
  if (is_64_bit)
    header.skip(8);
  const bool is_version_5 = header.fixed<uint16_t>() >= 5;
  const std::string strings =
      unit_strings(parts.str_offsets, parts.all_strings, is_version_5, is_64_bit, swap);

  ElfImage image(gelf_getclass(like.elf()), like.is_big_endian(), like.machine());
  image.add(".debug_info", parts.info);
  image.add(".debug_abbrev", parts.abbrev);
  image.add(".debug_str_offsets", parts.str_offsets);
  image.add(".debug_str", strings);
  TALLY_TRY(file, ElfFile::of_image(image.finish(), path));
  unit->rnglists = std::move(parts.rnglists);
  unit->file = std::make_unique<ElfFile>(std::move(file));
  unit->dwarf = unit->file->open_dwarf();
  Dwarf_CU *each = nullptr;
  Dwarf_Die die{};
  uint8_t type = 0;
  while (unit->dwarf &&
         dwarf_get_units(unit->dwarf.get(), each, &each, nullptr, &type, &die, nullptr) == 0) {
    uint64_t own_id = 0;
    if (type == DW_UT_split_compile && die.addr &&
        dwarf_cu_info(each, nullptr, nullptr, nullptr, nullptr, &own_id, nullptr, nullptr) == 0 &&
        own_id == id) {
      unit->die = die;
      return unit;
    }
  }
  return nullptr;
}

} // namespace tally::symbolize
