#include "symbolize/unwind/starts.h"

#include <algorithm>
#include <cstring>

#include <dwarf.h>
#include <gelf.h>

#include "symbolize/unwind/call_frames.h"

namespace tally::symbolize {

namespace {

// The layouts are those of the Linux Standard Base (Core 5.0, sections 10.6.1 and 10.6.2).
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
  if (load<uint8_t>(bytes) != 1 || load<uint8_t>(bytes + 2) != DW_EH_PE_udata4 ||
      load<uint8_t>(bytes + 3) != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
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

} // namespace

UnwindStarts UnwindStarts::read(Elf *elf) {
  UnwindStarts out;
  size_t ident_size = 0;
  const char *ident = elf_getident(elf, &ident_size);
  constexpr char ours = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  if (!ident || ident_size <= EI_DATA || ident[EI_DATA] != ours)
    return out;
  out.starts_ = listed_starts(elf);
  if (out.starts_.empty()) { // linkers leave out .eh_frame_hdr in static programs
    uint64_t address = 0;
    if (const Elf_Data *data = section_data(elf, ".eh_frame", address); data && data->d_buf)
      out.starts_ =
          described_starts({static_cast<const char *>(data->d_buf), data->d_size}, address);
  }
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
