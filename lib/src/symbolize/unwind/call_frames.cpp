#include "symbolize/unwind/call_frames.h"

#include <algorithm>
#include <cstring>
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
// Unknown instructions are refused, because their operands are.
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

struct Cie {
  bool safe = false;
  bool sized = false; // its FDEs have augmentation data behind their length
  uint8_t encoding = 0;
};

// The augmentation data has an entry for each letter after the z: R and L take one byte, P takes
// the encoding of a pointer and the pointer (the same standard, section 10.6.1.1.1).
bool read_augmentation(const Dwarf_CIE &entry, Cie &cie) {
  std::string_view letters = entry.augmentation ? entry.augmentation : "";
  cie.sized = letters.starts_with('z');
  if (letters == "eh")
    return true;
  if (cie.sized)
    letters.remove_prefix(1);
  DwarfCursor data(entry.augmentation_data,
                   entry.augmentation_data +
                       (entry.augmentation_data ? entry.augmentation_data_size : 0),
                   false);
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
    case 'S': // these two have no data
    case 'B':
      break;
    default:
      return false;
    }
  }
  return data.good();
}

struct Fde {
  uint64_t start;
  uint64_t offset; // in the section
};

class FrameWalk {
public:
  // The FDEs of .debug_frame that are not safe get an empty range, for which libdw finds no row.
  // .eh_frame is not changed.
  FrameWalk(const char *ident, char *bytes, size_t size, uint64_t address, bool is_eh_frame)
      : ident_(ident), bytes_(bytes), address_(address), is_eh_frame_(is_eh_frame) {
    data_.d_buf = bytes;
    data_.d_size = size;
    data_.d_type = ELF_T_BYTE;
    data_.d_version = EV_CURRENT;
  }

  // Calls visit(FDE, whether it is safe) for each function. A CIE must precede its FDEs, so that
  // each is looked at once.
  template <class Visit> void run(Visit visit) {
    Dwarf_CFI_Entry entry;
    for (Dwarf_Off offset = 0, next = 0;
         dwarf_next_cfi(reinterpret_cast<const unsigned char *>(ident_), &data_, is_eh_frame_,
                        offset, &next, &entry) == 0;
         offset = next) {
      if (dwarf_cfi_cie_p(&entry))
        cies_.emplace(offset, cie_of(entry.cie));
      else if (const auto cie = cies_.find(entry.fde.CIE_pointer); cie != cies_.end())
        look(offset, entry.fde, cie->second, visit);
      else
        look(offset, entry.fde, Cie(), visit);
    }
  }

private:
  static Cie cie_of(const Dwarf_CIE &entry) {
    Cie cie;
    cie.safe =
        read_augmentation(entry, cie) && size_of(cie.encoding) != 0 &&
        Instructions(DwarfCursor(entry.initial_instructions, entry.initial_instructions_end, false),
                     size_of(cie.encoding))
            .are_safe();
    return cie;
  }

  template <class Visit>
  void look(Dwarf_Off offset, const Dwarf_FDE &fde, const Cie &cie, Visit visit) {
    DwarfCursor cursor(fde.start, fde.end, false);
    const auto field =
        address_ + static_cast<uint64_t>(fde.start - reinterpret_cast<const uint8_t *>(bytes_));
    uint64_t start = read_pointer(cursor, cie.encoding);
    if ((cie.encoding & ~format_bits) == DW_EH_PE_pcrel)
      start += field;
    auto *const range = const_cast<uint8_t *>(cursor.at());
    const uint64_t size = read_pointer(cursor, cie.encoding & format_bits);
    const size_t range_bytes = static_cast<size_t>(cursor.at() - range);
    if (cie.sized)
      cursor.skip(cursor.uleb());
    const bool safe = cie.safe && cursor.good() && size != 0 &&
                      Instructions(cursor, size_of(cie.encoding)).are_safe();
    if (!safe && !is_eh_frame_)
      std::fill_n(range, range_bytes, uint8_t{0});
    visit(Fde{start, offset}, safe && (cie.encoding & ~format_bits) <= DW_EH_PE_pcrel);
  }

  const char *ident_;
  char *bytes_;
  uint64_t address_;
  bool is_eh_frame_;
  Elf_Data data_{};
  std::unordered_map<Dwarf_Off, Cie> cies_;
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

CallFrames CallFrames::of_eh_frame(const ElfFile &file) {
  CallFrames out;
  Bytes frames = eh_frame_of(file);
  if (frames.bytes.empty() || file.is_big_endian() || file.pointer_size() != 8)
    return out;
  std::vector<Fde> safe;
  FrameWalk(elf_getident(file.elf(), nullptr), frames.bytes.data(), frames.bytes.size(),
            frames.address, true)
      .run([&](const Fde &fde, bool is_safe) {
        if (is_safe)
          safe.push_back(fde);
      });
  std::ranges::stable_sort(safe, {}, &Fde::start);
  const std::string table = search_table(safe, frames.address);
  if (table.empty())
    return out;
  ElfImage image(ELFCLASS64, false, file.machine());
  image.add(".eh_frame_hdr", table, SHT_PROGBITS, frames.address);
  image.add(".eh_frame", frames.bytes, SHT_PROGBITS, frames.address);
  if (auto made = ElfFile::of_image(image.finish(), ".eh_frame")) {
    out.image_ = std::make_unique<ElfFile>(std::move(*made));
    out.cfi_ = {dwarf_getcfi_elf(out.image_->elf()), [](Dwarf_CFI *cfi) { dwarf_cfi_end(cfi); }};
  }
  return out;
}

CallFrames CallFrames::of_debug_frame(const ElfFile &file) {
  CallFrames out;
  const DwarfHandle dwarf = file.open_dwarf(); // decompresses the section
  std::string bytes(section_bytes(file, {".debug_frame"}));
  if (bytes.empty() || file.is_big_endian() || file.pointer_size() != 8)
    return out;
  FrameWalk(elf_getident(file.elf(), nullptr), bytes.data(), bytes.size(), 0, false)
      .run([](const Fde &, bool) {});
  ElfImage image(ELFCLASS64, false, file.machine());
  image.add(".debug_frame", bytes);
  if (auto made = ElfFile::of_image(image.finish(), ".debug_frame")) {
    out.image_ = std::make_unique<ElfFile>(std::move(*made));
    out.dwarf_ = out.image_->open_dwarf();
    if (out.dwarf_) // which owns it
      out.cfi_ = {dwarf_getcfi(out.dwarf_.get()), [](Dwarf_CFI *) {}};
  }
  return out;
}

std::vector<uint64_t> described_starts(Elf *elf, std::string_view bytes, uint64_t address) {
  std::vector<uint64_t> out;
  FrameWalk(elf_getident(elf, nullptr), const_cast<char *>(bytes.data()), bytes.size(), address,
            true)
      .run([&](const Fde &fde, bool) { out.push_back(fde.start); });
  return out;
}

} // namespace tally::symbolize
