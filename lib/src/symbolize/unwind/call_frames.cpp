#include "symbolize/unwind/call_frames.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <dwarf.h>
#include <gelf.h>

#include "symbolize/dwarf_cursor.h"
#include "symbolize/elf_image.h"

namespace tally::symbolize {

namespace {

// No processor that is unwound has more registers in call frame information; the control registers
// of RISC-V have the highest numbers.
constexpr uint64_t most_registers = 8192;
constexpr unsigned most_remembered = 16; // states at a time; compilers use one
constexpr uint64_t most_expression_bytes = 4096;

// Returns whether libdw can interpret instructions (DWARF 5, section 6.4.2) with little memory.
// Unknown instructions are refused, because the length of their operands is unknown.
class Instructions {
public:
  Instructions(DwarfCursor cursor, unsigned pointer_bytes)
      : cursor_(cursor), pointer_bytes_(pointer_bytes) {}

  bool are_safe() {
    while (cursor_.good() && cursor_.left())
      if (!step())
        return false;
    return cursor_.good();
  }

private:
  bool step() {
    const auto opcode = cursor_.fixed<uint8_t>();
    switch (opcode & 0xc0) {
    case DW_CFA_offset:
      cursor_.uleb();
      return true;
    case DW_CFA_advance_loc:
    case DW_CFA_restore:
      return true;
    default:
      break;
    }
    switch (opcode) {
    case DW_CFA_nop:
    case DW_CFA_GNU_window_save: // DW_CFA_AARCH64_negate_ra_state
      return true;
    case DW_CFA_remember_state:
      return ++remembered_ <= most_remembered;
    case DW_CFA_restore_state:
      remembered_ -= remembered_ > 0;
      return true;
    case DW_CFA_set_loc:
      cursor_.skip(pointer_bytes_);
      return true;
    case DW_CFA_advance_loc1:
      cursor_.skip(1);
      return true;
    case DW_CFA_advance_loc2:
      cursor_.skip(2);
      return true;
    case DW_CFA_advance_loc4:
      cursor_.skip(4);
      return true;
    case DW_CFA_MIPS_advance_loc8:
      cursor_.skip(8);
      return true;
    case DW_CFA_register:
      return takes_register() && takes_register();
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_GNU_negative_offset_extended:
      if (!takes_register())
        return false;
      cursor_.uleb();
      return true;
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_register:
      return takes_register();
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
      cursor_.uleb();
      return true;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
      return takes_register() && takes_expression();
    case DW_CFA_def_cfa_expression:
      return takes_expression();
    default:
      return false;
    }
  }

  bool takes_register() { return cursor_.uleb() < most_registers; }
  bool takes_expression() {
    const uint64_t size = cursor_.uleb();
    cursor_.skip(size);
    return size <= most_expression_bytes;
  }

  DwarfCursor cursor_;
  unsigned pointer_bytes_;
  unsigned remembered_ = 0;
};

// Encodings of pointers (Linux Standard Base, Core 5.0, section 10.5.1): the lower four bits are
// the format, the others say what a value is relative to.
constexpr uint8_t format_bits = 0x0f;

// Returns the size of an encoded pointer in bytes; 0 for formats of variable size. Files are of 64
// bits.
unsigned size_of(uint8_t encoding) {
  switch (encoding & format_bits) {
  case DW_EH_PE_absptr:
  case DW_EH_PE_signed:
  case DW_EH_PE_udata8:
  case DW_EH_PE_sdata8:
    return 8;
  case DW_EH_PE_udata2:
  case DW_EH_PE_sdata2:
    return 2;
  case DW_EH_PE_udata4:
  case DW_EH_PE_sdata4:
    return 4;
  default:
    return 0;
  }
}

uint64_t read_pointer(DwarfCursor &cursor, uint8_t encoding) {
  switch (encoding & format_bits) {
  case DW_EH_PE_sdata2:
    return static_cast<uint64_t>(int64_t{static_cast<int16_t>(cursor.fixed<uint16_t>())});
  case DW_EH_PE_sdata4:
    return static_cast<uint64_t>(int64_t{static_cast<int32_t>(cursor.fixed<uint32_t>())});
  default:
    return cursor.sized(size_of(encoding));
  }
}

// Returns whether a pointer with this encoding can be read: an address, or the distance from
// itself.
bool is_known(uint8_t encoding) {
  const int base = encoding & ~format_bits;
  return size_of(encoding) != 0 && (base == DW_EH_PE_absptr || base == DW_EH_PE_pcrel);
}

struct Cie {
  bool safe = false;
  bool sized = false;   // its FDEs have augmentation data behind their length
  uint8_t encoding = 0; // of the addresses in its FDEs
  uint64_t copy = 0;    // where a copy of the entry begins
};

struct Fde {
  uint64_t start = 0;
  uint64_t offset = 0; // in the section
  bool has_start = false;
  bool safe = false;
};

// An entry, without its length and its ID. libdw's own function for this (0.188) reads past the end
// of the section if an augmentation has more letters than data.
struct Entry {
  uint64_t offset; // in the section
  uint64_t id_at;  // likewise, of the ID of a CIE, or of the pointer to the CIE
  uint64_t id;
  std::string_view content; // what follows the ID
  bool is_64_bit;
};

class FrameWalk {
public:
  FrameWalk(std::string_view bytes, uint64_t address, bool is_eh_frame)
      : bytes_(bytes), address_(address), is_eh_frame_(is_eh_frame) {}

  // Calls see_cie(entry, CIE) and see_fde(entry, FDE, CIE). A CIE must precede its FDEs, so that
  // each is looked at once. see_cie() may change the CIE.
  template <class SeeCie, class SeeFde> void run(SeeCie see_cie, SeeFde see_fde) {
    static const Cie none;
    while (const auto entry = next()) {
      const uint64_t none_of_cie = entry->is_64_bit ? UINT64_MAX : UINT32_MAX;
      if (entry->id == (is_eh_frame_ ? 0 : none_of_cie)) {
        Cie cie = cie_of(entry->content);
        see_cie(*entry, cie);
        cies_.emplace(entry->offset, cie);
        continue;
      }
      const auto found = cies_.find(is_eh_frame_ ? entry->id_at - entry->id : entry->id);
      const Cie &cie = found == cies_.end() ? none : found->second;
      see_fde(*entry, fde_of(*entry, cie, !is_eh_frame_), cie);
    }
  }

  // Returns the entry of a function at an offset of .eh_frame, and its CIE; nothing unless libdw
  // can interpret the instructions of both with little memory.
  std::optional<std::pair<Entry, Entry>> safe_entry_at(uint64_t offset) const {
    uint64_t ignored = 0;
    const auto fde = entry_at(offset, ignored);
    if (!fde || fde->id == 0 || fde->id > fde->id_at)
      return std::nullopt;
    const auto cie = entry_at(fde->id_at - fde->id, ignored);
    if (!cie || cie->id != 0 || !fde_of(*fde, cie_of(cie->content), true).safe)
      return std::nullopt;
    return std::pair(*fde, *cie);
  }

private:
  std::optional<Entry> next() {
    while (at_ < bytes_.size())
      if (auto entry = entry_at(at_, at_))
        return entry;
    return std::nullopt;
  }

  // Sets `next` to where the next entry begins, or to the end of the section.
  std::optional<Entry> entry_at(uint64_t offset, uint64_t &next) const {
    next = bytes_.size();
    if (offset >= bytes_.size())
      return std::nullopt;
    DwarfCursor cursor = dwarf_cursor(bytes_.substr(offset), false);
    uint64_t length = cursor.fixed<uint32_t>();
    const bool is_64_bit = length == UINT32_MAX;
    if (is_64_bit)
      length = cursor.fixed<uint64_t>();
    if (!cursor.good() || length > cursor.left())
      return std::nullopt;
    const uint64_t id_at = bytes_.size() - cursor.left();
    next = id_at + length;
    const unsigned id_bytes = is_64_bit ? 8 : 4;
    if (length < id_bytes || (is_64_bit && is_eh_frame_)) // length 0 ends a part of .eh_frame
      return std::nullopt;
    const uint64_t id = cursor.sized(id_bytes);
    return Entry{offset, id_at, id, bytes_.substr(id_at + id_bytes, length - id_bytes), is_64_bit};
  }

  // DWARF 5, section 6.4.1, and the Linux Standard Base, section 10.6.1.1.
  Cie cie_of(std::string_view content) const {
    Cie cie;
    DwarfCursor cursor = dwarf_cursor(content, false);
    const auto version = cursor.fixed<uint8_t>();
    std::string_view letters = cursor.string();
    if (version >= 4 && (cursor.fixed<uint8_t>() != 8 || cursor.fixed<uint8_t>() != 0))
      return cie;  // addresses of other sizes, or with segments
    cursor.uleb(); // alignment of code
    cursor.sleb(); // and of data
    if (version == 1)
      cursor.skip(1); // the register of the return address
    else
      cursor.uleb();
    cie.sized = letters.starts_with('z');
    if (cie.sized) {
      letters.remove_prefix(1);
      const uint64_t size = cursor.uleb();
      DwarfCursor data = cursor;
      cursor.skip(size);
      if (!cursor.good() || !read_augmentation(letters, {data.at(), cursor.at(), false}, cie))
        return cie;
    } else if (!letters.empty() && letters != "S") {
      return cie;
    }
    cie.safe = (version == 1 || version == 3 || version == 4) && is_usable(cie.encoding) &&
               cursor.good() && Instructions(cursor, size_of(cie.encoding)).are_safe();
    return cie;
  }

  // The data has an entry for each letter after the z: R and L take one byte, P takes the encoding
  // of a pointer and the pointer. S, B and G have none.
  static bool read_augmentation(std::string_view letters, DwarfCursor data, Cie &cie) {
    constexpr size_t most_letters = 8;
    if (letters.size() > most_letters)
      return false;
    for (const char letter : letters) {
      switch (letter) {
      case 'R':
        cie.encoding = data.fixed<uint8_t>();
        break;
      case 'L':
        data.skip(1);
        break;
      case 'P': {
        const unsigned size = size_of(data.fixed<uint8_t>());
        if (size == 0)
          return false;
        data.skip(size);
        break;
      }
      case 'S':
      case 'B':
      case 'G':
        break;
      default:
        return false;
      }
    }
    return data.good();
  }

  // A copy of .debug_frame has its entries at other places.
  bool is_usable(uint8_t encoding) const {
    return is_known(encoding) && (is_eh_frame_ || (encoding & ~format_bits) == DW_EH_PE_absptr);
  }

  // Without `checks`, the instructions are taken for safe.
  Fde fde_of(const Entry &entry, const Cie &cie, bool checks) const {
    Fde fde;
    fde.offset = entry.offset;
    if (!is_known(cie.encoding))
      return fde;
    DwarfCursor cursor = dwarf_cursor(entry.content, false);
    fde.start = read_pointer(cursor, cie.encoding);
    if ((cie.encoding & ~format_bits) == DW_EH_PE_pcrel)
      fde.start += address_ + entry.id_at + (entry.is_64_bit ? 8 : 4);
    const uint64_t size = read_pointer(cursor, cie.encoding & format_bits);
    fde.has_start = cursor.good();
    if (cie.sized)
      cursor.skip(cursor.uleb());
    fde.safe = cie.safe && cursor.good() && size != 0 &&
               (!checks || Instructions(cursor, size_of(cie.encoding)).are_safe());
    return fde;
  }

  std::string_view bytes_;
  uint64_t address_;
  bool is_eh_frame_;
  uint64_t at_ = 0;
  std::unordered_map<uint64_t, Cie> cies_;
};

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
  Elf_Scn *const section = file.section(".eh_frame");
  GElf_Shdr header;
  if (!section || !gelf_getshdr(section, &header))
    return eh_frame_of_segments(file);
  return {std::string(file.content_of(".eh_frame")), header.sh_addr};
}

} // namespace

std::vector<ListedFunction> listed_functions(const ElfFile &file) {
  Elf_Scn *const section = file.section(".eh_frame_hdr");
  GElf_Shdr header;
  if (!section || !gelf_getshdr(section, &header))
    return {};
  DwarfCursor cursor = dwarf_cursor(file.content_of(".eh_frame_hdr"), false);
  const bool is_version_1 = cursor.fixed<uint8_t>() == 1;
  cursor.skip(1);
  if (!is_version_1 || cursor.fixed<uint8_t>() != DW_EH_PE_udata4 ||
      cursor.fixed<uint8_t>() != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
    return {};
  cursor.skip(4); // the address of .eh_frame
  // The count in the file is not trusted: there are at most as many rows as there are bytes for.
  constexpr size_t row_bytes = 8;
  const size_t rows = std::min<size_t>(cursor.fixed<uint32_t>(), cursor.left() / row_bytes);
  std::vector<ListedFunction> out;
  out.reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t start = header.sh_addr + read_pointer(cursor, DW_EH_PE_sdata4);
    out.push_back({start, header.sh_addr + read_pointer(cursor, DW_EH_PE_sdata4)});
  }
  return out;
}

CallFrames CallFrames::of_eh_frame(const ElfFile &file) {
  const Bytes frames = eh_frame_of(file);
  if (frames.bytes.empty() || file.is_big_endian() || file.pointer_size() != 8)
    return {};
  std::vector<Fde> all;
  for (const ListedFunction &each : listed_functions(file))
    if (each.entry - frames.address < frames.bytes.size())
      all.push_back({.start = each.start, .offset = each.entry - frames.address});
  if (all.empty()) // linkers leave out .eh_frame_hdr in static programs
    FrameWalk(frames.bytes, frames.address, true)
        .run([](const Entry &, Cie &) {},
             [&](const Entry &, const Fde &fde, const Cie &) {
               if (fde.safe)
                 all.push_back(fde);
             });
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
  const auto entry =
      FrameWalk(image_->content_of(".eh_frame"), address_, true).safe_entry_at(offset);
  if (!entry)
    return false;
  const auto end_of = [](const Entry &each) { return each.id_at + 4 + each.content.size(); };
  for (const Entry &each : {entry->first, entry->second}) {
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
  const auto copy = [&safe](uint32_t id, std::string_view content) {
    append(safe, static_cast<uint32_t>(sizeof id + content.size()));
    append(safe, id);
    safe += content;
  };
  FrameWalk(section_bytes(file, {".debug_frame"}), 0, false)
      .run(
          [&](const Entry &entry, Cie &cie) {
            cie.safe =
                cie.safe && entry.content.size() < UINT32_MAX / 2 && safe.size() < UINT32_MAX;
            cie.copy = safe.size();
            if (cie.safe)
              copy(UINT32_MAX, entry.content);
          },
          [&](const Entry &entry, const Fde &fde, const Cie &cie) {
            if (fde.safe && entry.content.size() < UINT32_MAX / 2)
              copy(static_cast<uint32_t>(cie.copy), entry.content);
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

std::vector<uint64_t> described_starts(std::string_view bytes, uint64_t address) {
  std::vector<uint64_t> out;
  FrameWalk(bytes, address, true)
      .run([](const Entry &, Cie &) {},
           [&](const Entry &, const Fde &fde, const Cie &cie) {
             if (fde.has_start && cie.safe)
               out.push_back(fde.start);
           });
  return out;
}

} // namespace tally::symbolize
