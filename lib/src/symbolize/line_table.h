// The line number table of one unit (DWARF 5, section 6.2): its files, and the line that covers an
// address.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <elfutils/libdw.h>

#include "support/file_budget.h"
#include "support/strings.h"
#include "symbolize/dwarf_cursor.h"
#include "symbolize/elf_file.h"
#include "symbolize/tables.h"

namespace tally::symbolize {

// A row that covers the code from `address` on; if `file` is no_index, a sequence ended there.
struct AddressedLine {
  uint64_t address;
  TextRef file;
  uint32_t line;
};

// The content of the sections; libdw has already decompressed them.
struct LineSections {
  std::string_view line;
  std::string_view line_strings;
  std::string_view strings;
  bool swap = false;

  static LineSections of(const ElfFile &file);
};

class LineTable {
public:
  // Reads the table of a unit. libdw reads it if `sections` is nullptr (the table is in another
  // file) or the header contains something that is not supported here; this takes longer, and the
  // result also contains rows of code that the linker dropped. Headers, rows and paths are taken
  // from the budget, which must outlive the table.
  LineTable(Dwarf_Die unit_die, const LineSections *sections, StringPool &pool, FileBudget &budget);

  bool uses_libdw() const { return !own_; }
  // Returns whether it is the table of another unit, too.
  bool serves(Dwarf_Die unit_die) const;

  // Returns the path of a file, by the number that DIEs and rows use: absolute, or joined with the
  // compilation directory; empty if there is none, or if it is longer than a path can be.
  TextRef file(uint64_t index);

  // Returns rows sorted by address. Each address has one row, the last of those in the table. The
  // first call puts them into `unshared`, and a second one keeps them: a unit usually has a table
  // of its own, but LLVM writes one for all units of a file if it writes assembly.
  std::span<const AddressedLine> rows(const CodeRanges &code, std::vector<AddressedLine> &unshared);
  bool is_shared() const { return calls_ > 1; } // whether rows() was called more than once

private:
  struct Entry {
    std::string_view name;
    uint64_t folder = 0;
    TextRef ref = no_index;
  };
  struct Format {
    uint64_t content;
    uint64_t form;
  };

  // The header of a line number table (DWARF 5, section 6.2.4).
  struct Header {
    unsigned version = 0;
    unsigned offset_size = 4;
    unsigned address_size = 8;
    uint8_t min_instruction = 1;
    uint8_t max_operations = 1;
    int8_t line_base = 0;
    uint8_t line_range = 1;
    uint8_t opcode_base = 1;
    std::vector<uint8_t> operand_counts; // of the standard opcodes, from opcode 1 on
  };

  bool read_header(Dwarf_Die unit_die, const LineSections &sections);
  void read_tables_before_5(DwarfCursor &cursor);
  bool read_table_5(DwarfCursor &cursor, bool folders, const LineSections &sections);
  std::string_view read_string(DwarfCursor &cursor, uint64_t form, const LineSections &sections);
  std::vector<AddressedLine> read_rows(const CodeRanges &code);
  TextRef intern_path(const std::string &path); // 0 if it is too long, or the budget used up
  std::string path_of(const Entry &entry) const;
  void run(const CodeRanges &code, std::vector<AddressedLine> &out);
  std::vector<AddressedLine> libdw_rows(const CodeRanges &code);

  StringPool &pool_;
  FileBudget &budget_;
  Dwarf_Die unit_die_;
  std::string_view compilation_folder_;
  bool own_ = false; // whether the table is read without libdw
  Dwarf_Files *libdw_files_ = nullptr;

  Header header_;
  std::vector<std::string_view> folders_;
  std::vector<Entry> files_;
  const unsigned char *program_ = nullptr;
  const unsigned char *program_end_ = nullptr;
  bool swap_ = false;
  size_t calls_ = 0; // of rows()
  std::vector<AddressedLine> kept_;
};

} // namespace tally::symbolize
