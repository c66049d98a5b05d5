// Makes call frame information of the input, in .eh_frame or .debug_frame, and asks for the rows of
// all its addresses. Whatever the instructions are, each answer comes, takes little memory, and is
// the same again; libdw has the same rows of the original.
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include <dwarf.h>
#include <fmt/format.h>

#include "fuzz_target.h"
#include "made_dwarf.h"
#include "require.h"
#include "symbolize/elf_image.h"
#include "symbolize/unwind/call_frames.h"
#include "symbolize/unwind/rows.h"

namespace tally::cfi_fuzz {

namespace {

constexpr uint64_t code_start = 0x1000;
constexpr unsigned most_functions = 6, bytes_of_function = 32;

struct Frames {
  Processor processor;
  bool is_eh_frame, is_plausible;
  Bytes section{false};
  unsigned functions;

  explicit Frames(Choices &from)
      : processor(static_cast<Processor>(from.below(3))), is_eh_frame(from.below(2) == 0),
        is_plausible(from.below(2) == 0), functions(1U + from.below(most_functions)) {
    for (unsigned i = 1U + from.below(3); i > 0; --i)
      add_cie(from);
    for (unsigned i = 0; i < functions; ++i)
      add_fde(from, i);
    if (is_eh_frame)
      section.fixed(0, 4);
  }

private:
  struct Cie {
    uint64_t offset;
    uint8_t encoding;
    bool sized;
  };
  std::vector<Cie> cies_;

  void add_cie(Choices &from) {
    constexpr const char *augmentations[] = {"", "zR", "zRS", "zPLR", "S", "zRB", "zLR", "z"};
    constexpr uint8_t plain = DW_EH_PE_absptr, relative = DW_EH_PE_pcrel | DW_EH_PE_sdata4;
    Cie made{section.text.size(), from.below(2) ? relative : plain, false};
    Bytes cie(false);
    cie.fixed(is_eh_frame ? 0 : ~0U, 4);
    const unsigned version = from.below(4) == 3 ? 4 : from.below(2) ? 1 : 3;
    cie.fixed(is_plausible || from.below(16) ? version : from.byte(), 1);
    std::string augmentation = augmentations[from.below(std::size(augmentations))];
    if (!is_plausible) {
      if (from.below(4) == 0)
        made.encoding = from.byte();
      for (unsigned i = from.below(4) ? 0 : from.byte(); i > 0; --i)
        augmentation += "zRLPSBG?"[from.below(8)];
    }
    cie.string(augmentation);
    if (version >= 4) {
      cie.fixed(8, 1); // size of an address
      cie.fixed(0, 1); // of a segment selector
    }
    cie.uleb(1U + from.below(4));                                    // code alignment
    cie.sleb(from.below(4) ? -8 : static_cast<int8_t>(from.byte())); // data alignment
    const unsigned return_address = processor == Processor::x86_64    ? 16
                                    : processor == Processor::aarch64 ? 30
                                                                      : 1;
    cie.fixed(from.below(16) == 15 ? from.below(0x80) : return_address, 1);
    made.sized = augmentation.starts_with('z');
    if (made.sized) {
      Bytes data(false);
      for (const char letter : augmentation) {
        if (letter == 'R' || letter == 'L')
          data.fixed(made.encoding, 1);
        if (letter == 'P') {
          data.fixed(DW_EH_PE_udata4, 1);
          data.fixed(from.number(), 4);
        }
      }
      cie.uleb(is_plausible || from.below(8) ? data.text.size() : from.number());
      cie.text += data.text;
    }
    if (augmentation.find('R') == std::string::npos)
      made.encoding = DW_EH_PE_absptr;
    add_instructions(from, cie, 6);
    finish(cie);
    cies_.push_back(made);
  }

  void add_fde(Choices &from, unsigned function) {
    const Cie &cie = cies_[from.below(static_cast<unsigned>(cies_.size()))];
    Bytes fde(false);
    const uint64_t at = section.text.size() + 4;
    const uint64_t distance = is_plausible || from.below(16) ? 0 : from.number();
    fde.fixed((is_eh_frame ? at - cie.offset : cie.offset) + distance, 4);
    const unsigned size = (cie.encoding & 7) == 3 ? 4 : (cie.encoding & 7) == 2 ? 2 : 8;
    const uint64_t start = code_start + function * bytes_of_function;
    fde.fixed(cie.encoding & DW_EH_PE_pcrel ? start - (at + 4) : start, size);
    fde.fixed(is_plausible || from.below(16) ? bytes_of_function : 0, size);
    if (cie.sized)
      fde.uleb(is_plausible || from.below(16) ? 0 : from.number());
    add_instructions(from, fde, 24);
    finish(fde);
  }

  void finish(Bytes &entry) {
    while (entry.text.size() % 4)
      entry.fixed(DW_CFA_nop, 1);
    section.sized(entry);
  }

  uint64_t register_number(Choices &from) const {
    return is_plausible || from.below(16) ? from.below(34) : from.number();
  }

  void add_instructions(Choices &from, Bytes &out, unsigned most) {
    for (unsigned i = from.below(most); i > 0 && from.left(); --i)
      add_instruction(from, out);
  }

  void add_expression(Choices &from, Bytes &out) {
    const unsigned size = from.below(12);
    out.uleb(size);
    for (unsigned i = 0; i < size; ++i)
      out.fixed(from.byte(), 1);
  }

  void add_instruction(Choices &from, Bytes &out) {
    const uint8_t kind = from.below(0x40);
    if (kind >= 0x30) { // those with an operand in the lower six bits
      out.fixed(from.byte(), 1);
      if ((out.text.back() & 0xc0) == 0x80)
        out.uleb(from.number());
      return;
    }
    out.fixed(kind, 1);
    switch (kind) {
    case DW_CFA_set_loc:
      out.fixed(code_start + from.byte(), 8);
      break;
    case DW_CFA_advance_loc1:
    case DW_CFA_advance_loc2:
    case DW_CFA_advance_loc4:
      out.fixed(from.number(), 1U << (kind - DW_CFA_advance_loc1));
      break;
    case DW_CFA_offset_extended:
    case DW_CFA_register:
    case DW_CFA_def_cfa:
    case DW_CFA_val_offset:
      out.uleb(register_number(from));
      out.uleb(kind == DW_CFA_register ? register_number(from) : from.number());
      break;
    case DW_CFA_offset_extended_sf:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_val_offset_sf:
    case DW_CFA_GNU_negative_offset_extended:
      out.uleb(register_number(from));
      out.sleb(static_cast<int8_t>(from.byte()));
      break;
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_register:
      out.uleb(register_number(from));
      break;
    case DW_CFA_def_cfa_offset:
    case DW_CFA_GNU_args_size:
      out.uleb(from.number());
      break;
    case DW_CFA_def_cfa_offset_sf:
      out.sleb(static_cast<int8_t>(from.byte()));
      break;
    case DW_CFA_def_cfa_expression:
      add_expression(from, out);
      break;
    case DW_CFA_expression:
    case DW_CFA_val_expression:
      out.uleb(register_number(from));
      add_expression(from, out);
      break;
    default: // remember_state, restore_state, GNU_window_save, nop, or unknown
      break;
    }
  }
};

std::string text_of(const Dwarf_Op *ops, size_t count) {
  std::string text = fmt::format("{}", ops ? "" : "same");
  for (size_t i = 0; i < count; ++i)
    text += fmt::format(" {:#x}({}, {})", ops[i].atom, ops[i].number, ops[i].number2);
  return text + '\n';
}

// Returns the rules of the CFA and of the registers; nothing if libdw has no row.
std::string row_of(Dwarf_CFI *cfi, uint64_t address) {
  Dwarf_Frame *frame = nullptr;
  if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame) != 0)
    return {};
  Dwarf_Op memory[3], *ops = nullptr;
  size_t count = 0;
  std::string text = fmt::format("{} ", dwarf_frame_cfa(frame, &ops, &count));
  text += text_of(ops, count);
  for (int i = 0; i < 34; ++i)
    if (dwarf_frame_register(frame, i, memory, &ops, &count) == 0)
      text += fmt::format("{}: ", i) + text_of(ops, count);
  std::free(frame);
  return text;
}

void compare(symbolize::CallFrames &own, Dwarf_CFI *original, uint64_t function) {
  for (uint64_t i = 0; i < bytes_of_function; ++i) {
    const std::string row = row_of(own.cfi_for(function + i), function + i);
    if (row.empty()) // an entry is dropped as a whole if one of its instructions is damaged
      continue;
    const std::string expected = row_of(original, function + i);
    require(row == expected, "the row of libdw", row + "-- libdw:\n" + expected);
  }
}

} // namespace

FUZZ_TARGET(cfi) {
  Choices choices(data, size);
  const Frames frames(choices);
  const uint16_t machine = frames.processor == Processor::x86_64    ? EM_X86_64
                           : frames.processor == Processor::aarch64 ? EM_AARCH64
                                                                    : EM_RISCV;
  symbolize::ElfImage image(ELFCLASS64, false, machine);
  image.add(frames.is_eh_frame ? ".eh_frame" : ".debug_frame", frames.section.text);
  image.add(".debug_info", std::string_view("\0", 1)); // libdw opens nothing without it
  auto file = symbolize::ElfFile::of_image(image.finish(), "cfi");
  require(file.has_value(), "the image opens");
  symbolize::CallFrames own = frames.is_eh_frame ? symbolize::CallFrames::of_eh_frame(*file)
                                                 : symbolize::CallFrames::of_debug_frame(*file);
  if (frames.is_eh_frame && frames.is_plausible) {
    Dwarf_CFI *const original = dwarf_getcfi_elf(file->elf());
    for (unsigned i = 0; i < frames.functions; ++i)
      compare(own, original, code_start + i * bytes_of_function);
    if (original)
      dwarf_cfi_end(original);
  }
  symbolize::UnwindRows rows(frames.processor, std::move(*file), std::nullopt);
  for (uint64_t i = 0; i < frames.functions * bytes_of_function; ++i) {
    const symbolize::UnwindRow *row = rows.at(code_start + i);
    if (!row)
      continue;
    const symbolize::UnwindRow first = *row;
    if (first.general != symbolize::UnwindRow::not_general)
      require(!rows.general(first).cfa.empty(), "a general row has a CFA");
    row = rows.at(code_start + i);
    require(row && *row == first, "the same row again");
  }
  return 0;
}

} // namespace tally::cfi_fuzz
