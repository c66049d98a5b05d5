// Builds the tables of compilation units from DWARF.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <elfutils/libdw.h>

#include "support/diagnostics.h"
#include "support/file_budget.h"
#include "support/strings.h"
#include "symbolize/die_scan.h"
#include "symbolize/elf_file.h"
#include "symbolize/line_table.h"
#include "symbolize/split_units.h"
#include "symbolize/tables.h"

namespace tally::symbolize {

// The tables of one unit. Texts are IDs of the pool that was passed to DwarfTable. Names of
// functions are looked up at first use, because most are never used.
struct BuiltUnit {
  uint64_t key = 0; // offset of the unit's DIE in .debug_info
  uint64_t base = 0;
  std::vector<RangeRow> ranges;
  std::vector<LineRow> lines;
  std::vector<NodeRow> nodes;
  std::vector<FunctionRow> functions;
  std::vector<DieRef> dies; // the DIEs of `functions`; `address` is nullptr after the look-up
  // The scopes of this unit, and of others whose functions were inlined into it (link-time
  // optimization, dwz).
  std::unordered_map<Dwarf_CU *, UnitScopes> scopes;
  bool cpp = false;
  bool whole = true; // false if the unit's split part was not found: a later attempt may find it

  UnitTables tables() const { return {base, ranges, lines, nodes, functions}; }
};

// The common part that dwz extracted from several files, as .gnu_debugaltlink names it.
struct AlternateLink {
  std::string name;
  std::string build_id; // lower-case hex
};
std::optional<AlternateLink> alternate_link(const ElfFile &file);
// Searches the directory of `path`, which is the file with the link, then the debug directories.
std::optional<ElfFile> open_alternate(const AlternateLink &link, const std::string &path,
                                      const std::vector<std::string> &debug_directories);

class DwarfTable {
public:
  // Returns nullptr if the file contains no DWARF. `file`, `pool` and `diagnostics` must outlive
  // the table. `alternate` is the path of the file of .gnu_debugaltlink; if it is empty, it is
  // sought. Split units are sought in the first of `packages` that there is, then in .dwo files.
  // What is missing or damaged is reported in `diagnostics`, then and later.
  static std::unique_ptr<DwarfTable> open(const ElfFile &file, const std::string &path,
                                          const std::string &alternate,
                                          const std::vector<std::string> &debug_directories,
                                          std::vector<std::string> packages, StringPool &pool,
                                          Diagnostics &diagnostics);

  // Returns which unit covers which addresses, from .debug_aranges (DWARF 5, section 6.1.2). The
  // ranges are sorted and disjoint.
  std::vector<UnitRange> unit_ranges();
  // Returns the same, and the ranges of the units that .debug_aranges leaves out. This is slower
  // than unit_ranges(), because it reads the DIE of every unit.
  std::vector<UnitRange> all_unit_ranges();

  // Returns whether the file refers to common debug information (dwz) that was not found.
  bool lacks_alternate() const { return lacks_alternate_; }

  std::unique_ptr<BuiltUnit> build(uint64_t unit);
  // Fills the row of a function, unless that has already been done.
  void resolve(BuiltUnit &unit, uint32_t function);

private:
  DwarfTable(const ElfFile &file, std::string path, StringPool &pool, Diagnostics &diagnostics)
      : pool_(pool), path_(std::move(path)), diagnostics_(diagnostics), budget_(file.size()) {}
  void use_alternate(const std::string &name, std::optional<ElfFile> file);
  std::vector<ScanRange> arange_list();
  std::vector<UnitRange> unit_map(std::vector<ScanRange> ranges) const;
  LineTable &lines_of(Dwarf_CU *unit);
  // Returns 0 for nullptr, and for a name that exceeds the budget.
  TextRef intern(const char *text);
  std::string qualified_name(BuiltUnit &unit, Dwarf_Die function, std::string_view name);

  StringPool &pool_;
  std::string path_;
  Diagnostics &diagnostics_;
  FileBudget budget_;
  bool has_functions_ = true; // otherwise only lines are used
  CodeRanges code_;
  LineSections line_sections_;
  std::optional<SplitUnits> split_units_;
  struct {
    std::unordered_map<Dwarf_CU *, std::shared_ptr<LineTable>> of_units;
    std::shared_ptr<LineTable> newest; // the next unit may have the same table
  } lines_;
  std::unique_ptr<ElfFile> alternate_file_;
  bool lacks_alternate_ = false;
  EndedSections ended_; // of the alternate file that libdw itself has opened
  DwarfHandle alternate_;
  DwarfHandle dwarf_;
};

} // namespace tally::symbolize
