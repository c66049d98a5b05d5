// The tables of one module, from the cache if it contains them, otherwise from DWARF.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/symbolizer.h"
#include "support/hash.h"
#include "support/strings.h"
#include "symbolize/cache.h"
#include "symbolize/debuginfod.h"
#include "symbolize/dwarf_table.h"
#include "symbolize/module_file.h"
#include "symbolize/unwind/starts.h"

namespace tally::symbolize {

// It has many methods, because it hides which of a module's sources (DWARF, symbols, unwind data,
// what debuginfod sent) a name comes from.
class ModuleTable {
public:
  ModuleTable(ModuleFiles files, const SymbolizerOptions &options, StringPool &pool);

  bool usable() const { return files_.vdso || !files_.main.empty(); }
  std::optional<uint64_t> link_address(uint64_t file_offset) const {
    return files_.link_address(file_offset);
  }
  std::optional<uint64_t> function_start(uint64_t address);
  std::string_view build_id() const { return files_.build_id; }
  void frames(uint64_t address, std::vector<SourceFrame> &out);
  std::string_view symbol_name(uint64_t address);
  std::vector<FunctionExtent> functions();
  // These functions implement the functions of Symbolizer that have the same names.
  std::vector<InstructionRange> code_of(uint64_t address, size_t frame);
  std::vector<uint64_t> addresses_of(std::string_view symbol);
  Result<std::vector<Instruction>> instructions(InstructionRange range, DisassemblyFlavor flavor);
  bool lacks_debug_file() const { return files_.lacks_debug_file(); }
  const std::string &name() const { return files_.name; }
  // Uses a debug file that was fetched. Earlier answers stay valid.
  void use_debug_file(const FetchResult &fetched);
  void save();
  void take_diagnostics(Diagnostics &diagnostics);

private:
  // A unit in use: either built in this process, or from the cache.
  struct Unit {
    std::unique_ptr<BuiltUnit> built;
    const Cache::Unit *cached = nullptr;
    SeededMap<uint32_t, std::string_view> demangled; // of cached functions
  };

  void open_cache();
  void drop_cache();
  bool open_files();
  DwarfTable *dwarf();
  Unit *unit_at(uint64_t address);
  Unit *unit(uint64_t key);
  bool load_symbols();
  std::optional<SourceFrame> symbol_at(uint64_t address);
  SourceFrame frame_of_symbol(size_t row);
  std::string_view text(const Unit &unit, TextRef ref) const;
  SourceFrame function_of(Unit &unit, uint32_t function);
  void frames_once(uint64_t address, std::vector<SourceFrame> &out);
  std::vector<InstructionRange> code_once(uint64_t address, size_t frame);
  void write(const Cache *on_disk, const std::string &path);
  CacheSource source() const;

  // The files that are open, and what was read from them.
  struct Opened {
    bool tried = false;
    std::unique_ptr<ElfFile> main;
    std::unique_ptr<ElfFile> debug;
    std::optional<UnwindStarts> unwind_starts;
    bool dwarf_tried = false;
    Diagnostics diagnostics; // precedes `dwarf`, which refers to it
    std::unique_ptr<DwarfTable> dwarf;
  };
  // Which units have code at which addresses.
  struct UnitRanges {
    std::vector<UnitRange> own; // empty if they are the cache's
    Rows<UnitRange> rows;
    bool known = false;
    bool all_units = false; // includes the units that .debug_aranges leaves out
  };
  struct Symbols {
    std::vector<SymbolRow> own; // empty if they are the cache's
    Rows<SymbolRow> rows;
    bool known = false;
    bool cached = false;
    SeededMap<size_t, std::string_view> demangled; // by row
  };

  ModuleFiles files_;
  const SymbolizerOptions &options_;
  StringPool &pool_;

  std::unique_ptr<Cache> cache_;
  std::vector<std::unique_ptr<Cache>> dropped_; // damaged; callers may still hold views into these
  bool cache_looked_for_ = false;
  bool dirty_ = false;   // there is something that the cache does not contain
  size_t demangled_ = 0; // number of names that the cache does not contain

  Opened opened_;
  SeededMap<uint64_t, Unit> units_;
  UnitRanges unit_ranges_;
  Symbols symbols_;
};

} // namespace tally::symbolize
