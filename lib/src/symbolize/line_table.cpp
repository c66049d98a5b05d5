// Reads line number tables without libdw where possible. libdw 0.188 makes a linked list of all
// rows and sorts it, even for a query about files alone; this took most of the time of a first
// look-up.
#include "symbolize/line_table.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <dwarf.h>

#include "support/path.h"

namespace tally::symbolize {

namespace {

// Returns nothing for a text that is longer than a path can be.
std::string_view string_at(std::string_view section, uint64_t offset) {
  if (offset >= section.size())
    return {};
  const std::string_view rest = section.substr(offset, PATH_MAX);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

// Returns the text, or nothing if it is longer than a path can be.
std::string_view short_enough(const char *text) {
  const size_t size = ::strnlen(text, PATH_MAX);
  return size < PATH_MAX ? std::string_view(text, size) : std::string_view();
}

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

bool is_in_folder(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

void append_path(std::string &path, std::string_view part) {
  if (!path.empty() && !path.ends_with('/'))
    path += '/';
  path += part;
}

// Sorts the rows from `from` on by address. A sequence (DWARF 5, section 6.2.5) consists of rows
// with ascending addresses and a closing row with the address behind them. If sequences overlap, an
// end precedes a row at the same address, as in libdw.
void sort_rows(std::vector<AddressedLine> &rows, size_t from) {
  auto before = [](const AddressedLine &a, const AddressedLine &b) {
    if (a.address != b.address)
      return a.address < b.address;
    return a.file == no_index && b.file != no_index;
  };
  std::stable_sort(rows.begin() + static_cast<ptrdiff_t>(from), rows.end(), before);
}

void keep_last_of_each_address(std::vector<AddressedLine> &rows) {
  size_t kept = 0;
  for (const AddressedLine &row : rows) {
    if (kept && rows[kept - 1].address == row.address)
      rows[kept - 1] = row;
    else
      rows[kept++] = row;
  }
  rows.resize(kept);
}

// A row takes at least one byte of a file.
constexpr uint64_t bytes_of_row = sizeof(AddressedLine);

std::optional<uint64_t> offset_of_table(Dwarf_Die unit_die) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  return dwarf_attr(&unit_die, DW_AT_stmt_list, &attribute) &&
                 dwarf_formudata(&attribute, &offset) == 0
             ? std::optional<uint64_t>(offset)
             : std::nullopt;
}

std::string_view compilation_folder(Dwarf_Die unit_die) {
  Dwarf_Attribute attribute;
  // libdw 0.188 would take a string of a supplementary file from this one.
  if (!dwarf_attr_integrate(&unit_die, DW_AT_comp_dir, &attribute) ||
      dwarf_whatform(&attribute) == DW_FORM_strp_sup)
    return {};
  const char *const folder = dwarf_formstring(&attribute);
  return folder ? short_enough(folder) : std::string_view();
}

} // namespace

LineSections LineSections::of(const ElfFile &file) {
  LineSections sections;
  sections.line = section_bytes(file, {".debug_line", ".zdebug_line"});
  sections.line_strings = section_bytes(file, {".debug_line_str", ".zdebug_line_str"});
  sections.strings = section_bytes(file, {".debug_str", ".zdebug_str"});
  sections.swap = swaps_bytes(file.elf());
  return sections;
}

LineTable::LineTable(Dwarf_Die unit_die, const LineSections *sections, StringPool &pool,
                     FileBudget &budget)
    : pool_(pool), budget_(budget), unit_die_(unit_die) {
  if (!unit_die_.addr) {
    own_ = true; // without a unit there are no files and no rows
    return;
  }
  compilation_folder_ = compilation_folder(unit_die_);
  own_ = sections && read_header(unit_die_, *sections);
  if (own_)
    return;
  Dwarf_Half version = 0;
  dwarf_cu_info(unit_die_.cu, &version, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  header_.version = version;
  size_t count = 0;
  files_.clear();
  if (dwarf_getsrcfiles(&unit_die_, &libdw_files_, &count) == 0)
    files_.resize(count);
}

bool LineTable::read_header(Dwarf_Die unit_die, const LineSections &sections) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (!dwarf_attr(&unit_die, DW_AT_stmt_list, &attribute))
    return true; // the unit has no table
  if (dwarf_formudata(&attribute, &offset) != 0 || offset >= sections.line.size())
    return false;
  uint8_t address_size = 0;
  dwarf_cu_info(unit_die.cu, nullptr, nullptr, nullptr, nullptr, nullptr, &address_size, nullptr);
  header_.address_size = address_size;
  swap_ = sections.swap;

  const auto *start = reinterpret_cast<const unsigned char *>(sections.line.data());
  DwarfCursor cursor(start + offset, start + sections.line.size(), swap_);
  uint64_t length = cursor.fixed<uint32_t>();
  header_.offset_size = 4;
  if (length == 0xffffffff) { // 64-bit DWARF (section 7.4)
    length = cursor.fixed<uint64_t>();
    header_.offset_size = 8;
  }
  if (!cursor.good() || length > cursor.left())
    return false;
  program_end_ = cursor.at() + length;
  cursor = DwarfCursor(cursor.at(), program_end_, swap_);
  header_.version = cursor.fixed<uint16_t>();
  if (header_.version < 2 || header_.version > 5)
    return false;
  if (header_.version >= 5) {
    header_.address_size = cursor.fixed<uint8_t>();
    cursor.skip(1); // segment selectors are not used by any compiler
  }
  const uint64_t header_length = cursor.sized(header_.offset_size);
  if (!cursor.good() || header_length > cursor.left() || !budget_.take(8 * header_length))
    return false;
  program_ = cursor.at() + header_length;
  header_.min_instruction = cursor.fixed<uint8_t>();
  header_.max_operations = header_.version >= 4 ? cursor.fixed<uint8_t>() : uint8_t{1};
  cursor.skip(1); // default_is_stmt: not needed, because all rows are used
  header_.line_base = static_cast<int8_t>(cursor.fixed<uint8_t>());
  header_.line_range = cursor.fixed<uint8_t>();
  header_.opcode_base = cursor.fixed<uint8_t>();
  if (!cursor.good() || header_.line_range == 0 || header_.opcode_base == 0 ||
      header_.max_operations == 0 || (header_.address_size != 4 && header_.address_size != 8))
    return false;
  header_.operand_counts.assign(header_.opcode_base, 0);
  for (unsigned opcode = 1; opcode < header_.opcode_base; ++opcode)
    header_.operand_counts[opcode] = cursor.fixed<uint8_t>();
  if (header_.version >= 5)
    return read_table_5(cursor, true, sections) && read_table_5(cursor, false, sections);
  read_tables_before_5(cursor);
  return cursor.good();
}

// Reads the tables of directories and files (DWARF 4, section 6.2.4). An empty string ends each
// table. Numbers begin at 1; directory 0 is the compilation directory.
void LineTable::read_tables_before_5(DwarfCursor &cursor) {
  folders_.push_back(compilation_folder_);
  for (;;) {
    const std::string_view folder = cursor.string();
    if (folder.empty())
      break;
    folders_.push_back(folder);
  }
  files_.emplace_back();
  while (cursor.good()) {
    Entry entry;
    entry.name = cursor.string();
    if (entry.name.empty())
      break;
    entry.folder = cursor.uleb();
    cursor.uleb(); // time
    cursor.uleb(); // size
    files_.push_back(entry);
  }
}

std::string_view LineTable::read_string(DwarfCursor &cursor, uint64_t form,
                                        const LineSections &sections) {
  switch (form) {
  case DW_FORM_string:
    return cursor.string();
  case DW_FORM_line_strp:
    return string_at(sections.line_strings, cursor.sized(header_.offset_size));
  case DW_FORM_strp:
    return string_at(sections.strings, cursor.sized(header_.offset_size));
  default: // DW_FORM_strx and similar forms are left to libdw
    cursor.fail();
    return {};
  }
}

// Reads a table of directories or files. In DWARF 5 (section 6.2.4.1), the header describes the
// fields of its entries.
bool LineTable::read_table_5(DwarfCursor &cursor, bool folders, const LineSections &sections) {
  std::vector<Format> formats(cursor.fixed<uint8_t>());
  for (Format &format : formats) {
    format.content = cursor.uleb();
    format.form = cursor.uleb();
  }
  const uint64_t count = cursor.uleb();
  if (!cursor.good() || count > cursor.left() || (formats.empty() && count))
    return false;
  for (uint64_t i = 0; i < count && cursor.good(); ++i) {
    Entry entry;
    for (const Format &format : formats) {
      if (format.content == DW_LNCT_path) {
        entry.name = read_string(cursor, format.form, sections);
        continue;
      }
      uint64_t value = 0;
      switch (format.form) {
      case DW_FORM_udata:
        value = cursor.uleb();
        break;
      case DW_FORM_data1:
        value = cursor.fixed<uint8_t>();
        break;
      case DW_FORM_data2:
        value = cursor.fixed<uint16_t>();
        break;
      case DW_FORM_data4:
        value = cursor.fixed<uint32_t>();
        break;
      case DW_FORM_data8:
        value = cursor.fixed<uint64_t>();
        break;
      case DW_FORM_data16: // an MD5 checksum
        cursor.skip(16);
        break;
      case DW_FORM_block:
        cursor.skip(cursor.uleb());
        break;
      default:
        read_string(cursor, format.form, sections); // LLVM stores the source text in a string
      }
      if (format.content == DW_LNCT_directory_index)
        entry.folder = value;
    }
    if (folders)
      folders_.push_back(entry.name);
    else
      files_.push_back(entry);
  }
  return cursor.good();
}

TextRef LineTable::intern_path(const std::string &path) {
  return may_be_a_path(path) && budget_.take(path.size()) ? index_of(pool_.intern(path)) : 0;
}

std::string LineTable::path_of(const Entry &entry) const {
  const std::string_view folder =
      entry.folder < folders_.size() ? folders_[entry.folder] : std::string_view();
  if (!may_be_a_path(folder) || !may_be_a_path(entry.name))
    return {};
  if (is_absolute(entry.name))
    return std::string(entry.name);
  std::string path;
  // Directory 0 is the compilation directory itself.
  if (entry.folder != 0 && !is_absolute(folder))
    path = compilation_folder_;
  if (!folder.empty())
    append_path(path, folder);
  append_path(path, entry.name);
  return path;
}

TextRef LineTable::file(uint64_t index) {
  if (index >= files_.size() ||
      (index == 0 && header_.version < 5)) // before DWARF 5, 0 means "none"
    return 0;
  Entry &entry = files_[index];
  if (entry.ref != no_index)
    return entry.ref;
  if (libdw_files_) {
    const char *const text = dwarf_filesrc(libdw_files_, index, nullptr, nullptr);
    const std::string_view name = text ? short_enough(text) : std::string_view();
    std::string path;
    // libdw takes the compilation directory for directory 0, and does not join the others with it.
    if (!name.empty() && !is_absolute(name) && !is_in_folder(name, compilation_folder_))
      path = compilation_folder_;
    if (!name.empty())
      append_path(path, name);
    entry.ref = intern_path(path);
  } else {
    entry.ref = entry.name.empty() ? 0 : intern_path(path_of(entry));
  }
  return entry.ref;
}

bool LineTable::serves(Dwarf_Die unit_die) const {
  const auto offset = offset_of_table(unit_die);
  return own_ && offset && offset == offset_of_table(unit_die_) &&
         compilation_folder(unit_die) == compilation_folder_;
}

std::span<const AddressedLine> LineTable::rows(const CodeRanges &code,
                                               std::vector<AddressedLine> &unshared) {
  if (++calls_ == 1)
    return unshared = read_rows(code);
  if (calls_ == 2)
    kept_ = read_rows(code);
  return kept_;
}

std::vector<AddressedLine> LineTable::read_rows(const CodeRanges &code) {
  if (!own_)
    return libdw_rows(code);
  std::vector<AddressedLine> out;
  if (program_ && program_ < program_end_ &&
      budget_.take(bytes_of_row / 2 * static_cast<uint64_t>(program_end_ - program_)))
    run(code, out);
  keep_last_of_each_address(out);
  return out;
}

// Runs the line number program: the state machine of DWARF 5, section 6.2.5.
void LineTable::run(const CodeRanges &code, std::vector<AddressedLine> &out) {
  DwarfCursor cursor(program_, program_end_, swap_);
  out.reserve(cursor.left() / 3);
  uint64_t address = 0;
  uint64_t operation = 0;
  uint64_t file = 1;
  uint64_t line = 1;
  size_t sequence = 0; // where the current sequence begins in `out`
  bool sorted = true;
  struct Sequence {
    uint64_t low;
    size_t begin;
    size_t end;
  };
  std::vector<Sequence> sequences;
  auto advance = [&](uint64_t operations) {
    if (header_.max_operations == 1) {
      address += operations * header_.min_instruction;
      return;
    }
    operation += operations;
    address += header_.min_instruction * (operation / header_.max_operations);
    operation %= header_.max_operations;
  };
  auto add_row = [&](TextRef ref) {
    if (out.size() > sequence) {
      AddressedLine &last = out.back();
      sorted &= last.address <= address;
      if (last.address == address && ref != no_index) {
        last = {address, ref, static_cast<uint32_t>(line)};
        return;
      }
    }
    out.push_back({address, ref, static_cast<uint32_t>(line)});
  };
  auto end_sequence = [&] {
    if (out.size() == sequence)
      return;
    add_row(no_index);
    if (!sorted)
      sort_rows(out, sequence);
    // Code that the linker dropped is at an address where no section contains code. The sequence of
    // a function without instructions would hide the lines of what was placed at its address.
    if (code.contains(out[sequence].address) && out.back().address != out[sequence].address)
      sequences.push_back({out[sequence].address, sequence, out.size()});
    else
      out.resize(sequence);
    sequence = out.size();
    sorted = true;
  };
  while (cursor.good() && cursor.left()) {
    const uint8_t opcode = cursor.fixed<uint8_t>();
    if (opcode >= header_.opcode_base) {
      const unsigned adjusted = static_cast<unsigned>(opcode - header_.opcode_base);
      advance(adjusted / header_.line_range);
      line += static_cast<uint64_t>(header_.line_base +
                                    static_cast<int>(adjusted % header_.line_range));
      add_row(this->file(file));
      continue;
    }
    switch (opcode) {
    case 0: {
      const uint64_t length = cursor.uleb();
      if (!cursor.good() || length == 0 || length > cursor.left())
        break;
      const unsigned char *next = cursor.at() + length;
      switch (cursor.fixed<uint8_t>()) {
      case DW_LNE_end_sequence:
        end_sequence();
        address = operation = 0;
        file = line = 1;
        break;
      case DW_LNE_set_address:
        if (length - 1 == 4 || length - 1 == 8)
          address = cursor.sized(static_cast<unsigned>(length - 1));
        operation = 0;
        break;
      case DW_LNE_define_file: {
        Entry entry;
        entry.name = cursor.string();
        entry.folder = cursor.uleb();
        if (cursor.good())
          files_.push_back(entry);
        break;
      }
      default:
        break;
      }
      cursor.move_to(next);
      break;
    }
    case DW_LNS_copy:
      add_row(this->file(file));
      break;
    case DW_LNS_advance_pc:
      advance(cursor.uleb());
      break;
    case DW_LNS_advance_line:
      line += static_cast<uint64_t>(cursor.sleb());
      break;
    case DW_LNS_set_file:
      file = cursor.uleb();
      break;
    case DW_LNS_const_add_pc:
      advance((255U - header_.opcode_base) / header_.line_range);
      break;
    case DW_LNS_fixed_advance_pc:
      address += cursor.fixed<uint16_t>();
      operation = 0;
      break;
    default:
      // For an unknown opcode, the header specifies the number of operands.
      for (unsigned i = 0; i < header_.operand_counts[opcode]; ++i)
        cursor.uleb();
    }
  }
  out.resize(sequence); // a sequence without an end covers nothing

  std::stable_sort(sequences.begin(), sequences.end(),
                   [](const Sequence &a, const Sequence &b) { return a.low < b.low; });
  std::vector<AddressedLine> ordered;
  ordered.reserve(out.size());
  bool overlap = false;
  for (const Sequence &part : sequences) {
    overlap |= !ordered.empty() && ordered.back().address > part.low;
    ordered.insert(ordered.end(), out.begin() + static_cast<ptrdiff_t>(part.begin),
                   out.begin() + static_cast<ptrdiff_t>(part.end));
  }
  if (overlap)
    sort_rows(out, 0); // of rows at the same address, the last one in the table is used
  else
    out = std::move(ordered);
}

// libdw mixes the rows of all sequences, so that a sequence without code is not seen as such.
std::vector<AddressedLine> LineTable::libdw_rows(const CodeRanges &code) {
  std::vector<AddressedLine> rows;
  Dwarf_Lines *lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit_die_, &lines, &count) != 0 || !budget_.take(count * bytes_of_row))
    return rows;
  rows.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Line *line = dwarf_onesrcline(lines, i);
    Dwarf_Addr address = 0;
    bool end = false;
    int number = 0;
    Dwarf_Files *table = nullptr;
    size_t index = 0;
    if (!line || dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &end) != 0 ||
        dwarf_lineno(line, &number) != 0 ||
        (!code.contains(address) && !(end && address && code.contains(address - 1))))
      continue;
    if (end)
      rows.push_back({address, no_index, 0});
    else // a number without a file is that of an unknown one
      rows.push_back({address, dwarf_line_file(line, &table, &index) == 0 ? file(index) : 0,
                      static_cast<uint32_t>(number)});
  }
  keep_last_of_each_address(rows);
  return rows;
}

} // namespace tally::symbolize
