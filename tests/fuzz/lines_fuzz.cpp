// Makes a line number table of DWARF 2 to 5 of the input, and compares the rows that Tally reads of
// it with those of libdw: each address has the same file and line.
#include <span>
#include <string>
#include <vector>

#include <dwarf.h>
#include <fmt/format.h>

#include "fuzz_target.h"
#include "made_dwarf.h"
#include "require.h"
#include "symbolize/elf_image.h"
#include "symbolize/line_table.h"

namespace tally::lines_fuzz {

namespace {

constexpr unsigned most_files = 6;

std::string folder_name(unsigned i) { return i % 2 ? "folder" : "/a/folder"; }
std::string file_name(unsigned i) { return i % 3 ? std::string(1 + i, 'f') : "/of/f"; }

struct Table {
  bool big, wide;   // byte order; 64-bit addresses
  unsigned version; // of DWARF
  const char *compiled_in;
  Bytes line, info, abbrev;

  explicit Table(Choices &from)
      : big(from.below(4) == 0), wide(from.below(4) != 0), version(2U + from.below(4)),
        compiled_in(from.below(4) ? "/compiled/in" : "compiled/in"), line(big), info(big),
        abbrev(big) {
    make_line(from);
    make_unit();
  }

private:
  unsigned address_size() const { return wide ? 8 : 4; }

  void make_line(Choices &from) {
    Bytes rest(big); // what the length of the header covers
    rest.fixed(1U + from.below(4), 1);
    if (version >= 4)
      rest.fixed(1U + (from.below(4) ? 0U : from.below(4)), 1); // operations of an instruction
    rest.fixed(from.below(2), 1);                               // default_is_stmt
    rest.fixed(static_cast<uint8_t>(-static_cast<int>(from.below(10))), 1);
    const unsigned range = 1U + from.below(20);
    rest.fixed(range, 1);
    const unsigned opcodes = 10U + from.below(6); // from 10 on, a program has all of DWARF 2
    rest.fixed(opcodes, 1);
    constexpr uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2, 3, 0};
    for (unsigned i = 1; i < opcodes; ++i)
      rest.fixed(operands[i - 1], 1);
    const unsigned folders = from.below(4), files = 1U + from.below(most_files);
    if (version < 5) {
      for (unsigned i = 0; i < folders; ++i)
        rest.string(folder_name(i));
      rest.fixed(0, 1);
      for (unsigned i = 0; i < files; ++i) {
        rest.string(file_name(i));
        rest.uleb(from.below(folders + 1));
        rest.uleb(0);
        rest.uleb(0);
      }
      rest.fixed(0, 1);
    } else {
      rest.fixed(1, 1);
      rest.uleb(DW_LNCT_path);
      rest.uleb(DW_FORM_string);
      rest.uleb(folders + 1);
      rest.string(compiled_in);
      for (unsigned i = 0; i < folders; ++i)
        rest.string(folder_name(i));
      rest.fixed(2, 1);
      rest.uleb(DW_LNCT_path);
      rest.uleb(DW_FORM_string);
      rest.uleb(DW_LNCT_directory_index);
      rest.uleb(DW_FORM_udata);
      rest.uleb(files);
      for (unsigned i = 0; i < files; ++i) {
        rest.string(file_name(i));
        rest.uleb(from.below(folders + 1));
      }
    }

    Bytes all(big);
    all.fixed(version, 2);
    if (version >= 5) {
      all.fixed(address_size(), 1);
      all.fixed(0, 1); // segment selectors
    }
    all.sized(rest);
    make_program(from, all, opcodes, files);
    line.sized(all);
  }

  void make_program(Choices &from, Bytes &out, unsigned opcodes, unsigned files) {
    bool has_rows = false; // in this sequence; an end without rows makes a row in libdw only
    while (from.left()) {
      const uint8_t opcode = from.byte();
      if (opcode == 0) {
        extended(from, out, files, has_rows);
        continue;
      }
      out.fixed(opcode, 1);
      has_rows |= opcode >= opcodes || opcode == DW_LNS_copy;
      if (opcode >= opcodes)
        continue;
      switch (opcode) {
      case DW_LNS_advance_pc: // libdw takes the lower 32 bits
        out.uleb(from.number() & 0xffffff);
        break;
      case DW_LNS_advance_line:
        out.sleb(static_cast<int8_t>(from.byte()) * (from.below(8) ? 1 : 1000));
        break;
      case DW_LNS_set_file: {
        const unsigned file = from.below(files + 2);
        out.uleb(file <= files ? file : 1'000'000); // which no file has, even if some are defined
        break;
      }
      case DW_LNS_set_column:
      case DW_LNS_set_isa:
        out.uleb(from.number());
        break;
      case DW_LNS_fixed_advance_pc:
        out.fixed(from.number() & 0xffff, 2);
        break;
      case 13: // no version has these; the header states the number of their operands
      case 14:
        for (unsigned i = 0; i < opcode - 11U; ++i)
          out.uleb(from.number());
        break;
      default:
        break;
      }
    }
    if (has_rows)
      end_sequence(out);
  }

  // An end at the address of the last row would leave that row without code. libdw may then show
  // the line of that row for the code behind it, and Tally does not.
  static void end_sequence(Bytes &out) {
    out.fixed(DW_LNS_fixed_advance_pc, 1);
    out.fixed(1, 2);
    out.extended(std::string(1, DW_LNE_end_sequence));
  }

  void extended(Choices &from, Bytes &out, unsigned files, bool &has_rows) {
    Bytes content(big);
    const unsigned kind = from.below(8);
    if (kind < 2) {
      if (has_rows)
        end_sequence(out);
      has_rows = false;
      return;
    }
    if (kind < 5) {
      if (has_rows) // compilers set an address only where a sequence begins
        return;
      content.fixed(DW_LNE_set_address, 1);
      // At the end of the address space, libdw takes the last row for an end.
      content.fixed(from.number() & 0xffffffffffff, address_size());
    } else if (kind == 5) {
      content.fixed(DW_LNE_set_discriminator, 1);
      content.uleb(from.number());
    } else if (kind == 6 && version < 5) {
      content.fixed(DW_LNE_define_file, 1);
      content.string("defined");
      content.uleb(0);
      content.uleb(0);
      content.uleb(0);
    } else {
      content.fixed(0xa0U + from.below(files), 1); // unknown
      for (unsigned i = from.below(4); i > 0; --i)
        content.fixed(from.byte(), 1);
    }
    out.extended(content.text);
  }

  void make_unit() {
    const unsigned offset_form = version >= 4 ? DW_FORM_sec_offset : DW_FORM_data4;
    for (const unsigned each :
         {1U, unsigned{DW_TAG_compile_unit}, unsigned{DW_CHILDREN_no}, unsigned{DW_AT_comp_dir},
          unsigned{DW_FORM_string}, unsigned{DW_AT_stmt_list}, offset_form, 0U, 0U, 0U})
      abbrev.uleb(each);
    Bytes unit(big);
    unit.fixed(version, 2);
    if (version >= 5) {
      unit.fixed(DW_UT_compile, 1);
      unit.fixed(address_size(), 1);
    }
    unit.fixed(0, 4); // in .debug_abbrev
    if (version < 5)
      unit.fixed(address_size(), 1);
    unit.uleb(1);
    unit.string(compiled_in);
    unit.fixed(0, 4); // in .debug_line
    info.sized(unit);
  }
};

std::string text_of(std::span<const symbolize::AddressedLine> rows, const StringPool &pool) {
  std::string text;
  for (const symbolize::AddressedLine &row : rows)
    text += row.file == symbolize::no_index
                ? fmt::format("{:#x} end\n", row.address)
                : fmt::format("{:#x} {}:{}\n", row.address, pool[StringId{row.file}], row.line);
  return text;
}

} // namespace

FUZZ_TARGET(lines) {
  Choices choices(data, size);
  const Table table(choices);
  symbolize::ElfImage image(table.wide ? ELFCLASS64 : ELFCLASS32, table.big,
                            table.big ? EM_PPC64 : EM_X86_64);
  image.add(".debug_info", table.info.text);
  image.add(".debug_abbrev", table.abbrev.text);
  image.add(".debug_line", table.line.text);
  const MadeUnit unit = MadeUnit::open(image);
  Dwarf_Die die = unit.die;
  Dwarf_Lines *lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&die, &lines, &count) != 0)
    return 0;

  symbolize::CodeRanges everywhere;
  everywhere.add(0, UINT64_MAX);
  everywhere.finish();
  StringPool pool;
  const symbolize::LineSections sections = symbolize::LineSections::of(unit.file);
  FileBudget enough(1 << 30), of_libdw(1 << 30);
  symbolize::LineTable own(die, &sections, pool, enough);
  require(!own.uses_libdw(), "Tally itself reads it");
  symbolize::LineTable other(die, nullptr, pool, of_libdw);
  std::vector<symbolize::AddressedLine> rows, libdw_rows;
  const std::string text = text_of(own.rows(everywhere, rows), pool);
  const std::string expected = text_of(other.rows(everywhere, libdw_rows), pool);
  require(text == expected, "the rows of libdw", text + "-- libdw:\n" + expected);
  return 0;
}

} // namespace tally::lines_fuzz
