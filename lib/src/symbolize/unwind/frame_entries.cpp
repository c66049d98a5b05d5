#include "symbolize/unwind/frame_entries.h"

#include <algorithm>

#include <dwarf.h>
#include <gelf.h>

#include "symbolize/dwarf_cursor.h"

namespace tally::symbolize {

namespace {

// No processor that is unwound has more registers in call frame information; the control registers
// of RISC-V have the highest numbers.
constexpr uint64_t most_registers = 8192;
constexpr unsigned most_remembered = 16; // states at a time; compilers use one
constexpr uint64_t most_expression_bytes = 4096;
// libdw runs the instructions of an entry from the beginning for each address. A generated function
// with a thousand returns has some 25 KB of instructions.
constexpr uint64_t most_instruction_bytes = 1 << 17;

// Tells whether libdw can interpret instructions (DWARF 5, section 6.4.2) with little memory and in
// little time. Unknown instructions are refused, because the length of their operands is unknown.
class Instructions {
public:
  Instructions(DwarfCursor cursor, unsigned pointer_bytes)
      : cursor_(cursor), pointer_bytes_(pointer_bytes) {}

  bool are_safe() {
    if (cursor_.left() > most_instruction_bytes)
      return false;
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

// Returns the size of an encoded pointer in bytes; 0 for formats of variable size.
unsigned size_of(uint8_t encoding, unsigned pointer_bytes) {
  switch (encoding & format_bits) {
  case DW_EH_PE_absptr:
  case DW_EH_PE_signed:
    return pointer_bytes;
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

uint64_t read_pointer(DwarfCursor &cursor, uint8_t encoding, unsigned pointer_bytes) {
  switch (encoding & format_bits) {
  case DW_EH_PE_sdata2:
    return static_cast<uint64_t>(int64_t{static_cast<int16_t>(cursor.fixed<uint16_t>())});
  case DW_EH_PE_sdata4:
    return static_cast<uint64_t>(int64_t{static_cast<int32_t>(cursor.fixed<uint32_t>())});
  default:
    return cursor.sized(size_of(encoding, pointer_bytes));
  }
}

// Addresses of 32 bits wrap where they are sums.
uint64_t wrapped(uint64_t address, unsigned pointer_bytes) {
  return pointer_bytes == 4 ? static_cast<uint32_t>(address) : address;
}

// Returns whether a pointer with this encoding can be read: an address, or the distance from
// itself.
bool is_known(uint8_t encoding) {
  const int base = encoding & ~format_bits;
  return size_of(encoding, 8) != 0 && (base == DW_EH_PE_absptr || base == DW_EH_PE_pcrel);
}

// The data has an entry for each letter after the z: R and L take one byte, P takes the encoding
// of a pointer and the pointer. S, B and G have none.
bool read_augmentation(std::string_view letters, DwarfCursor data, unsigned pointer_bytes,
                       Cie &cie) {
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
      const unsigned size = size_of(data.fixed<uint8_t>(), pointer_bytes);
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

} // namespace

std::optional<FrameSection> FrameSection::eh_frame_of(const ElfFile &file) {
  Elf_Scn *const section = file.section(".eh_frame");
  GElf_Shdr header;
  if (!section || !gelf_getshdr(section, &header))
    return std::nullopt;
  return FrameSection{.bytes = file.content_of(".eh_frame"),
                      .address = header.sh_addr,
                      .swap = swaps_bytes(file.elf()),
                      .pointer_bytes = file.pointer_size()};
}

// Sets `next` to where the next entry begins, or to the end of the section.
std::optional<FrameEntry> FrameEntries::entry_at(uint64_t offset, uint64_t &next) const {
  next = section_.bytes.size();
  if (offset >= section_.bytes.size())
    return std::nullopt;
  DwarfCursor cursor = dwarf_cursor(section_.bytes.substr(offset), section_.swap);
  uint64_t length = cursor.fixed<uint32_t>();
  const bool is_64_bit = length == UINT32_MAX;
  if (is_64_bit)
    length = cursor.fixed<uint64_t>();
  if (!cursor.good() || length > cursor.left())
    return std::nullopt;
  const uint64_t id_at = section_.bytes.size() - cursor.left();
  next = id_at + length;
  const unsigned id_bytes = is_64_bit ? 8 : 4;
  if (length < id_bytes || (is_64_bit && section_.is_eh_frame)) // length 0 ends a part of .eh_frame
    return std::nullopt;
  const uint64_t id = cursor.sized(id_bytes);
  return FrameEntry{offset, id_at, id, section_.bytes.substr(id_at + id_bytes, length - id_bytes),
                    is_64_bit};
}

bool FrameEntries::is_cie(const FrameEntry &entry) const {
  const uint64_t id_in_debug_frame = entry.is_64_bit ? UINT64_MAX : UINT32_MAX;
  return entry.id == (section_.is_eh_frame ? 0 : id_in_debug_frame);
}

// A copy of .debug_frame has its entries at other places.
bool FrameEntries::is_usable(uint8_t encoding) const {
  return is_known(encoding) &&
         (section_.is_eh_frame || (encoding & ~format_bits) == DW_EH_PE_absptr);
}

// DWARF 5, section 6.4.1, and the Linux Standard Base, section 10.6.1.1.
Cie FrameEntries::cie_of(std::string_view content) const {
  Cie cie;
  DwarfCursor cursor = dwarf_cursor(content, section_.swap);
  const auto version = cursor.fixed<uint8_t>();
  std::string_view letters = cursor.string();
  if (version >= 4 &&
      (cursor.fixed<uint8_t>() != section_.pointer_bytes || cursor.fixed<uint8_t>() != 0))
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
    if (!cursor.good() || !read_augmentation(letters, {data.at(), cursor.at(), section_.swap},
                                             section_.pointer_bytes, cie))
      return cie;
  } else if (!letters.empty() && letters != "S") {
    return cie;
  }
  cie.safe = (version == 1 || version == 3 || version == 4) && is_usable(cie.encoding) &&
             cursor.good() &&
             Instructions(cursor, size_of(cie.encoding, section_.pointer_bytes)).are_safe();
  return cie;
}

// Without `checks`, the instructions are taken for safe.
Fde FrameEntries::fde_of(const FrameEntry &entry, const Cie &cie, bool checks) const {
  Fde fde;
  fde.offset = entry.offset;
  if (!is_known(cie.encoding))
    return fde;
  DwarfCursor cursor = dwarf_cursor(entry.content, section_.swap);
  fde.start = read_pointer(cursor, cie.encoding, section_.pointer_bytes);
  if ((cie.encoding & ~format_bits) == DW_EH_PE_pcrel)
    fde.start += section_.address + entry.id_at + (entry.is_64_bit ? 8 : 4);
  fde.start = wrapped(fde.start, section_.pointer_bytes);
  const uint64_t size = read_pointer(cursor, cie.encoding & format_bits, section_.pointer_bytes);
  if (cie.sized)
    cursor.skip(cursor.uleb());
  fde.safe =
      cie.safe && cursor.good() && size != 0 &&
      (!checks || Instructions(cursor, size_of(cie.encoding, section_.pointer_bytes)).are_safe());
  return fde;
}

std::optional<std::pair<FrameEntry, FrameEntry>>
FrameEntries::safe_entry_at(uint64_t offset) const {
  uint64_t ignored = 0;
  const auto fde = entry_at(offset, ignored);
  if (!fde || is_cie(*fde) || fde->id > fde->id_at)
    return std::nullopt;
  const auto cie = entry_at(fde->id_at - fde->id, ignored);
  if (!cie || !is_cie(*cie) || !fde_of(*fde, cie_of(cie->content), true).safe)
    return std::nullopt;
  return std::pair(*fde, *cie);
}

std::vector<Fde> described_functions(const FrameSection &eh_frame) {
  std::vector<Fde> out;
  FrameEntries(eh_frame).for_each([](const FrameEntry &, const Cie &) {},
                                  [&](const FrameEntry &, const Fde &fde, uint64_t) {
                                    if (fde.safe)
                                      out.push_back(fde);
                                  });
  return out;
}

std::vector<ListedFunction> listed_functions(const ElfFile &file) {
  Elf_Scn *const section = file.section(".eh_frame_hdr");
  GElf_Shdr header;
  if (!section || !gelf_getshdr(section, &header))
    return {};
  DwarfCursor cursor = dwarf_cursor(file.content_of(".eh_frame_hdr"), swaps_bytes(file.elf()));
  const bool is_version_1 = cursor.fixed<uint8_t>() == 1;
  cursor.skip(1);
  if (!is_version_1 || cursor.fixed<uint8_t>() != DW_EH_PE_udata4 ||
      cursor.fixed<uint8_t>() != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
    return {};
  cursor.skip(4); // the address of .eh_frame
  // The count in the file is not trusted: there are at most as many rows as there are bytes for.
  constexpr size_t row_bytes = 8;
  const size_t rows = std::min<size_t>(cursor.fixed<uint32_t>(), cursor.left() / row_bytes);
  const unsigned pointer_bytes = file.pointer_size();
  const auto read_address = [&] {
    return wrapped(header.sh_addr + read_pointer(cursor, DW_EH_PE_sdata4, pointer_bytes),
                   pointer_bytes);
  };
  std::vector<ListedFunction> out;
  out.reserve(rows);
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t start = read_address();
    out.push_back({start, read_address()});
  }
  return out;
}

} // namespace tally::symbolize
