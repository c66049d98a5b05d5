#include "symbolize/unwind/call_frames.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <dwarf.h>
#include <gelf.h>

#include "support/hash.h"
#include "symbolize/elf_image.h"
#include "symbolize/unwind/frame_entries.h"

namespace tally::symbolize {

namespace {

template <class T> void append(std::string &to, T value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

// Makes a search table as in .eh_frame_hdr. libdw then finds only the functions of the table. All
// numbers are relative to the address of .eh_frame.
std::string search_table(const std::vector<Fde> &sorted, uint64_t address) {
  std::string out;
  for (const int byte : {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4 + 0,
                         DW_EH_PE_datarel | DW_EH_PE_sdata4})
    append(out, static_cast<uint8_t>(byte));
  append(out, int32_t{-4}); // to .eh_frame from here
  append(out, uint32_t{0});
  uint32_t count = 0;
  for (const Fde &fde : sorted) {
    const auto start = static_cast<int64_t>(fde.start - address);
    if (start != static_cast<int32_t>(start) || fde.offset > INT32_MAX)
      continue;
    append(out, static_cast<int32_t>(start));
    append(out, static_cast<int32_t>(fde.offset));
    ++count;
  }
  std::memcpy(&out[8], &count, sizeof count);
  return count ? out : std::string();
}

struct Bytes {
  std::string bytes;
  uint64_t address = 0;
};

// A file without section headers has the segment PT_GNU_EH_FRAME: the header of .eh_frame with its
// address (the same standard, section 10.6.2). The end of .eh_frame is marked in itself.
Bytes eh_frame_of_segments(const ElfFile &file) {
  size_t size = file.identity().size;
  if (file.is_image())
    static_cast<void>(elf_rawfile(file.elf(), &size));
  size_t count = 0;
  if (elf_getphdrnum(file.elf(), &count) != 0)
    return {};
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    std::byte bytes[8];
    if (!gelf_getphdr(file.elf(), static_cast<int>(i), &header) ||
        header.p_type != PT_GNU_EH_FRAME || !file.read_constants(header.p_vaddr, bytes) ||
        bytes[0] != std::byte{1} || bytes[1] != std::byte{DW_EH_PE_pcrel | DW_EH_PE_sdata4})
      continue;
    int32_t distance = 0;
    std::memcpy(&distance, bytes + 4, sizeof distance);
    const uint64_t start = header.p_vaddr + 4 + static_cast<uint64_t>(int64_t{distance});
    for (const Segment &segment : file.loaded_segments()) {
      const uint64_t at = start - segment.address;
      if (start < segment.address || at >= segment.size || segment.offset > UINT64_MAX - at ||
          segment.offset + at >= size)
        continue;
      std::string out(std::min(segment.size - at, size - segment.offset - at), '\0');
      if (file.read_constants(start, std::as_writable_bytes(std::span(out))))
        return {std::move(out), start};
    }
  }
  return {};
}

Bytes eh_frame_of(const ElfFile &file) {
  const auto section = FrameSection::eh_frame_of(file);
  return section ? Bytes{std::string(section->bytes), section->address}
                 : eh_frame_of_segments(file);
}

} // namespace

CallFrames CallFrames::of_eh_frame(const ElfFile &file) {
  if (file.is_big_endian() || file.pointer_size() != 8)
    return {};
  const Bytes frames = eh_frame_of(file);
  if (frames.bytes.empty())
    return {};
  std::vector<Fde> all;
  for (const ListedFunction &each : listed_functions(file))
    if (each.entry - frames.address < frames.bytes.size())
      all.push_back({.start = each.start, .offset = each.entry - frames.address});
  if (all.empty()) // linkers leave out .eh_frame_hdr in static programs
    all = described_functions({.bytes = frames.bytes, .address = frames.address});
  if (!std::ranges::is_sorted(all, {}, &Fde::start))
    std::ranges::stable_sort(all, {}, &Fde::start);
  all.erase(std::unique(all.begin(), all.end(),
                        [](const Fde &a, const Fde &b) { return a.start == b.start; }),
            all.end());
  const std::string table = search_table(all, frames.address);
  if (table.empty())
    return {};
  ElfImage image(ELFCLASS64, false, file.machine());
  image.add(".eh_frame_hdr", table, SHT_PROGBITS, frames.address);
  image.add(".eh_frame", frames.bytes, SHT_PROGBITS, frames.address);
  CallFrames out(ElfFile::of_image(image.finish(), ".eh_frame"), true);
  out.address_ = frames.address;
  out.functions_.reserve(all.size());
  for (const Fde &fde : all)
    out.functions_.push_back({fde.start, fde.offset});
  return out;
}

Dwarf_CFI *CallFrames::cfi_for(uint64_t address) {
  if (dwarf_) // .debug_frame has only entries that are safe
    return cfi_.get();
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  if (after == functions_.begin())
    return nullptr;
  const uint64_t offset = std::prev(after)->offset;
  const auto [known, is_new] = safe_.try_emplace(offset, false);
  if (is_new)
    known->second = is_safe(offset);
  return known->second ? cfi_.get() : nullptr;
}

// Entries that overlap are refused: libdw ends the program if it meets an expression in two roles.
bool CallFrames::is_safe(uint64_t offset) {
  const auto entry = FrameEntries({.bytes = image_->content_of(".eh_frame"), .address = address_})
                         .safe_entry_at(offset);
  if (!entry)
    return false;
  const auto end_of = [](const FrameEntry &each) { return each.id_at + 4 + each.content.size(); };
  for (const FrameEntry &each : {entry->first, entry->second}) {
    const auto behind = seen_.lower_bound(each.offset);
    const bool is_known = behind != seen_.end() && behind->first == each.offset;
    if ((behind != seen_.end() && !is_known && behind->first < end_of(each)) ||
        (behind != seen_.begin() && std::prev(behind)->second > each.offset))
      return false;
  }
  seen_.emplace(entry->first.offset, end_of(entry->first));
  seen_.emplace(entry->second.offset, end_of(entry->second));
  return true;
}

CallFrames CallFrames::of_debug_frame(const ElfFile &file) {
  if (!file.has_section(".debug_frame") || file.is_big_endian() || file.pointer_size() != 8)
    return {};
  const DwarfHandle dwarf = file.open_dwarf(); // decompresses the section
  // libdw searches this section from its start, and would look at every entry.
  std::string safe;
  SeededMap<uint64_t, uint32_t> copies; // where the copies of CIEs begin, by their offsets
  const auto copy = [&safe](uint32_t id, std::string_view content) {
    append(safe, static_cast<uint32_t>(sizeof id + content.size()));
    append(safe, id);
    safe += content;
  };
  FrameEntries({.bytes = section_bytes(file, {".debug_frame"}), .is_eh_frame = false})
      .for_each(
          [&](const FrameEntry &entry, const Cie &cie) {
            if (!cie.safe || entry.content.size() >= UINT32_MAX / 2 || safe.size() >= UINT32_MAX)
              return;
            copies.emplace(entry.offset, static_cast<uint32_t>(safe.size()));
            copy(UINT32_MAX, entry.content);
          },
          [&](const FrameEntry &entry, const Fde &fde, uint64_t cie_at) {
            if (const auto cie = copies.find(cie_at);
                cie != copies.end() && fde.safe && entry.content.size() < UINT32_MAX / 2)
              copy(cie->second, entry.content);
          });
  if (safe.empty())
    return {};
  ElfImage image(ELFCLASS64, false, file.machine());
  image.add(".debug_frame", safe);
  return CallFrames(ElfFile::of_image(image.finish(), ".debug_frame"), false);
}

CallFrames::CallFrames(Result<ElfFile> image, bool is_eh_frame) {
  if (!image)
    return;
  image_ = std::make_unique<ElfFile>(std::move(*image));
  if (is_eh_frame)
    cfi_ = {dwarf_getcfi_elf(image_->elf()), [](Dwarf_CFI *cfi) { dwarf_cfi_end(cfi); }};
  else if ((dwarf_ = image_->open_dwarf())) // which owns it
    cfi_ = {dwarf_getcfi(dwarf_.get()), [](Dwarf_CFI *) {}};
}

} // namespace tally::symbolize
