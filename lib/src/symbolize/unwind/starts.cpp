#include "symbolize/unwind/starts.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include <elfutils/libdw.h>
#include <gelf.h>

namespace tally::symbolize {

namespace {

// The DW_EH_PE_ encodings in use (Linux Standard Base, Core 5.0, section 10.5.1).
constexpr uint8_t udata4 = 0x03;
constexpr uint8_t pcrel_sdata4 = 0x1b;
constexpr uint8_t datarel_sdata4 = 0x3b;
constexpr size_t header_bytes = 12; // version, three encodings, eh_frame_ptr, fde_count
constexpr size_t row_bytes = 8;     // initial location and address of its FDE

Elf_Data *section_data(Elf *elf, const char *wanted, uint64_t &address) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return nullptr;
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
      continue;
    const char *name = elf_strptr(elf, names, header.sh_name);
    if (!name || std::strcmp(name, wanted) != 0)
      continue;
    address = header.sh_addr;
    return elf_rawdata(section, nullptr);
  }
  return nullptr;
}

template <class T> T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Returns the starts that the search table of .eh_frame_hdr lists.
std::vector<uint64_t> listed_starts(Elf *elf) {
  std::vector<uint64_t> out;
  uint64_t address = 0;
  const Elf_Data *data = section_data(elf, ".eh_frame_hdr", address);
  if (!data || !data->d_buf || data->d_size < header_bytes)
    return out;
  const auto *bytes = static_cast<const std::byte *>(data->d_buf);
  if (load<uint8_t>(bytes) != 1 || load<uint8_t>(bytes + 2) != udata4 ||
      load<uint8_t>(bytes + 3) != datarel_sdata4)
    return out;
  // The count in the file is not trusted: there are at most as many rows as there are bytes for.
  const size_t rows =
      std::min<size_t>(load<uint32_t>(bytes + 8), (data->d_size - header_bytes) / row_bytes);
  out.reserve(rows);
  for (size_t i = 0; i < rows; ++i)
    out.push_back(address + static_cast<uint64_t>(
                                int64_t{load<int32_t>(bytes + header_bytes + i * row_bytes)}));
  return out;
}

// Returns the encoding of the addresses in the FDEs of a CIE, 0 if the CIE does not say it. The
// augmentation data has an entry for each letter after the z: R and L take one byte, P takes the
// encoding of a pointer and the pointer (the same section, 10.6.1.1.1).
uint8_t address_encoding(const Dwarf_CIE &cie) {
  const std::string_view letters = cie.augmentation ? cie.augmentation : "";
  if (!letters.starts_with('z') || !cie.augmentation_data)
    return 0;
  const std::span<const uint8_t> values(cie.augmentation_data, cie.augmentation_data_size);
  size_t at = 0;
  for (const char letter : letters.substr(1)) {
    if (at >= values.size())
      return 0;
    if (letter == 'R')
      return values[at];
    if (letter == 'L')
      at += 1;
    else if (letter == 'P' && (values[at] & 0x07) == udata4) // or sdata4
      at += 1 + sizeof(uint32_t);
    else if (letter != 'S' && letter != 'B') // these two have no data
      return 0;
  }
  return 0;
}

// Returns the starts of the FDEs in .eh_frame. Linkers leave out .eh_frame_hdr in static programs.
std::vector<uint64_t> described_starts(Elf *elf, const char *ident) {
  std::vector<uint64_t> out;
  uint64_t address = 0;
  Elf_Data *const data = section_data(elf, ".eh_frame", address);
  if (!data || !data->d_buf)
    return out;
  const auto *const bytes = static_cast<const uint8_t *>(data->d_buf);
  const auto read = [&](Dwarf_Off offset, Dwarf_Off &next, Dwarf_CFI_Entry &entry) {
    return dwarf_next_cfi(reinterpret_cast<const unsigned char *>(ident), data, true, offset, &next,
                          &entry) == 0;
  };
  Dwarf_Off of_cie = ~Dwarf_Off{0}; // whose encoding is known
  uint8_t encoding = 0;
  Dwarf_CFI_Entry entry;
  Dwarf_CFI_Entry cie;
  for (Dwarf_Off offset = 0, next = 0, ignored = 0; read(offset, next, entry); offset = next) {
    if (dwarf_cfi_cie_p(&entry))
      continue;
    if (entry.fde.CIE_pointer != of_cie) {
      of_cie = entry.fde.CIE_pointer;
      encoding = read(of_cie, ignored, cie) && dwarf_cfi_cie_p(&cie) ? address_encoding(cie.cie)
                                                                     : uint8_t{0};
    }
    if (encoding != pcrel_sdata4 || entry.fde.end - entry.fde.start < 8)
      continue;
    const auto field = address + static_cast<uint64_t>(entry.fde.start - bytes);
    out.push_back(field + static_cast<uint64_t>(int64_t{load<int32_t>(
                              reinterpret_cast<const std::byte *>(entry.fde.start))}));
  }
  return out;
}

} // namespace

UnwindStarts UnwindStarts::read(Elf *elf) {
  UnwindStarts out;
  size_t ident_size = 0;
  const char *ident = elf_getident(elf, &ident_size);
  constexpr char ours = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  if (!ident || ident_size <= EI_DATA || ident[EI_DATA] != ours)
    return out;
  out.starts_ = listed_starts(elf);
  if (out.starts_.empty())
    out.starts_ = described_starts(elf, ident);
  if (!std::ranges::is_sorted(out.starts_))
    std::ranges::sort(out.starts_);
  return out;
}

std::optional<uint64_t> UnwindStarts::before(uint64_t address) const {
  const auto after = std::ranges::upper_bound(starts_, address);
  if (after == starts_.begin())
    return std::nullopt;
  return *std::prev(after);
}

} // namespace tally::symbolize
