#include "symbolize/module_table.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

#include "support/file_io.h"
#include "symbolize/debugdata.h"
#include "symbolize/symtab.h"

namespace tally::symbolize {

namespace {

// If demangled names are all that is new, the cache is rewritten only if there are at least this
// many.
constexpr size_t demangled_worth_writing = 256;

void make_folders(const std::string &path) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    ::mkdir(path.substr(0, at).c_str(), 0700);
  }
}

} // namespace

ModuleTable::ModuleTable(ModuleFiles files, const SymbolizerOptions &options, StringPool &pool)
    : files_(std::move(files)), options_(options), pool_(pool) {}

CacheSource ModuleTable::source() const {
  const bool separate = !files_.debug.empty();
  const FileIdentity &identity = separate ? files_.debug_identity : files_.main_identity;
  return {files_.build_id, separate ? files_.debug : files_.name, identity};
}

void ModuleTable::open_cache() {
  if (std::exchange(cache_looked_for_, true))
    return;
  const std::string folder = options_.use_cache ? cache_directory() : std::string();
  if (folder.empty() || files_.build_id.empty() || files_.vdso || files_.lacks_alternate)
    return;
  cache_ = Cache::open(cache_path(folder, files_.build_id), source());
  if (!cache_)
    return;
  unit_ranges_.rows = cache_->unit_ranges();
  unit_ranges_.known = true;
  unit_ranges_.all_units = cache_->has_all_units();
  if (cache_->has_symbols()) {
    symbols_.rows = cache_->symbols();
    symbols_.known = symbols_.cached = true;
  }
}

// Discards a damaged cache. Its content is then read from the files.
void ModuleTable::drop_cache() {
  std::erase_if(units_, [](const auto &entry) { return entry.second.cached != nullptr; });
  if (unit_ranges_.own.empty())
    unit_ranges_ = {};
  if (symbols_.cached)
    symbols_ = {};
  dirty_ = true;
  dropped_.push_back(std::move(cache_));
}

void ModuleTable::use_debug_file(const FetchResult &fetched) {
  const auto file = ElfFile::open(fetched.path);
  if (!file)
    return;
  files_.debug = fetched.path;
  files_.debug_identity = file->identity();
  files_.debug_has_dwarf = file->has_dwarf();
  files_.alternate = fetched.alternate;
  files_.lacks_alternate = !fetched.whole;
  if (cache_)
    dropped_.push_back(std::move(cache_));
  cache_looked_for_ = dirty_ = false;
  demangled_ = 0;
  units_.clear();
  unit_ranges_ = {};
  symbols_ = {};
  opened_ = {};
}

bool ModuleTable::open_files() {
  if (std::exchange(opened_.tried, true))
    return opened_.main != nullptr;
  const auto kept = [](std::optional<ElfFile> file) {
    return file ? std::make_unique<ElfFile>(std::move(*file)) : nullptr;
  };
  opened_.main = kept(files_.open_main());
  if (opened_.main)
    opened_.debug = kept(files_.open_debug());
  if (opened_.main && !opened_.debug && !files_.main_has_dwarf)
    opened_.debug = kept(open_debugdata(*opened_.main));
  return opened_.main != nullptr;
}

std::optional<uint64_t> ModuleTable::function_start(uint64_t address) {
  if (!opened_.unwind_starts)
    opened_.unwind_starts = open_files() ? UnwindStarts::read(*opened_.main) : UnwindStarts();
  return opened_.unwind_starts->before(address);
}

std::vector<FunctionExtent> ModuleTable::functions() {
  std::vector<FunctionExtent> out;
  if (!open_files())
    return out;
  for (const SymbolRow &row : read_functions(*opened_.main, opened_.debug.get(), pool_)) {
    const std::string_view name = pool_[StringId{row.name}];
    out.push_back({row.low, row.high, pool_[pool_.intern(demangle(name))], name});
  }
  return out;
}

std::vector<uint64_t> ModuleTable::addresses_of(std::string_view symbol) {
  return open_files() ? symbol_addresses(*opened_.main, opened_.debug.get(), symbol)
                      : std::vector<uint64_t>();
}

DwarfTable *ModuleTable::dwarf() {
  if (std::exchange(opened_.dwarf_tried, true))
    return opened_.dwarf.get();
  if (!open_files())
    return nullptr;
  const bool separate = opened_.debug && !files_.main_has_dwarf && !opened_.debug->is_image();
  const ElfFile &file = separate ? *opened_.debug : *opened_.main;
  if (separate || files_.main_has_dwarf)
    opened_.dwarf = DwarfTable::open(
        file, separate ? files_.debug : files_.name, files_.alternate, options_.debug_directories,
        files_.packages(options_.debug_directories), pool_, opened_.diagnostics);
  files_.lacks_alternate |= opened_.dwarf && opened_.dwarf->lacks_alternate();
  opened_.main->spare_descriptors();
  if (opened_.debug)
    opened_.debug->spare_descriptors();
  return opened_.dwarf.get();
}

ModuleTable::Unit *ModuleTable::unit(uint64_t key) {
  auto found = units_.find(key);
  if (found != units_.end())
    return &found->second;
  Unit unit;
  if (cache_)
    unit.cached = cache_->unit(key);
  if (!unit.cached) {
    DwarfTable *table = dwarf();
    if (!table)
      return nullptr;
    unit.built = table->build(key);
    dirty_ |= unit.built->whole;
  }
  return &units_.emplace(key, std::move(unit)).first->second;
}

ModuleTable::Unit *ModuleTable::unit_at(uint64_t address) {
  if (!unit_ranges_.known) {
    if (DwarfTable *table = dwarf())
      unit_ranges_.own = table->unit_ranges();
    unit_ranges_.rows = unit_ranges_.own;
    unit_ranges_.known = true;
    dirty_ = true;
  }
  size_t found = covering(unit_ranges_.rows, address);
  if (found == no_index && !unit_ranges_.all_units) {
    if (DwarfTable *table = dwarf()) { // otherwise the cached ranges stay as they are
      unit_ranges_.own = table->all_unit_ranges();
      unit_ranges_.rows = unit_ranges_.own;
      found = covering(unit_ranges_.rows, address);
    }
    unit_ranges_.all_units = dirty_ = true;
  }
  return found == no_index ? nullptr : unit(unit_ranges_.rows[found].unit);
}

bool ModuleTable::load_symbols() {
  if (!symbols_.known) {
    if (open_files())
      symbols_.own = read_symbols(*opened_.main, opened_.debug.get(), pool_);
    symbols_.rows = symbols_.own;
    symbols_.known = dirty_ = true;
  }
  return symbols_.rows.size() != 0;
}

std::optional<SourceFrame> ModuleTable::symbol_at(uint64_t address) {
  if (!load_symbols())
    return std::nullopt;
  const size_t found = covering(symbols_.rows, address);
  return found == no_index ? std::nullopt : std::optional(frame_of_symbol(found));
}

SourceFrame ModuleTable::frame_of_symbol(size_t number) {
  const SymbolRow row = symbols_.rows[number];
  auto text = [&](TextRef ref) {
    return symbols_.cached      ? cache_->text(ref)
           : ref < pool_.size() ? pool_[StringId{ref}]
                                : std::string_view();
  };
  SourceFrame frame;
  frame.system_name = text(row.name);
  frame.function = text(row.display);
  if (frame.function.empty()) {
    auto [name, is_new] = symbols_.demangled.try_emplace(number);
    if (is_new) {
      name->second = pool_[pool_.intern(demangle(frame.system_name))];
      ++demangled_;
    }
    frame.function = name->second;
  }
  return frame;
}

std::string_view ModuleTable::text(const Unit &unit, TextRef ref) const {
  if (unit.cached)
    return cache_->text(ref);
  return ref < pool_.size() ? pool_[StringId{ref}] : std::string_view();
}

SourceFrame ModuleTable::function_of(Unit &unit, uint32_t function) {
  FunctionRow row;
  if (unit.built) {
    if (function >= unit.built->functions.size())
      return {};
    opened_.dwarf->resolve(*unit.built, function);
    row = unit.built->functions[function];
  } else {
    row = unit.cached->tables.functions[function];
  }
  SourceFrame frame;
  frame.system_name = text(unit, row.linkage);
  frame.function = text(unit, row.display);
  frame.function_file = text(unit, row.file);
  frame.function_line = row.line;
  if (!frame.function.empty() || frame.system_name.empty())
    return frame;
  if (unit.built) {
    const StringId name = pool_.intern(demangle(frame.system_name));
    unit.built->functions[function].display = index_of(name);
    frame.function = pool_[name];
  } else {
    auto [name, is_new] = unit.demangled.try_emplace(function);
    if (is_new) {
      name->second = pool_[pool_.intern(demangle(frame.system_name))];
      ++demangled_;
    }
    frame.function = name->second;
  }
  return frame;
}

void ModuleTable::frames(uint64_t address, std::vector<SourceFrame> &out) {
  open_cache();
  const size_t before = out.size();
  frames_once(address, out);
  if (cache_ && cache_->damaged()) {
    out.resize(before);
    drop_cache();
    frames_once(address, out);
  }
}

std::string_view ModuleTable::symbol_name(uint64_t address) {
  open_cache();
  std::optional<SourceFrame> symbol = symbol_at(address);
  if (cache_ && cache_->damaged()) {
    drop_cache();
    symbol = symbol_at(address);
  }
  return symbol ? symbol->system_name : std::string_view();
}

void ModuleTable::frames_once(uint64_t address, std::vector<SourceFrame> &out) {
  std::string_view file;
  uint32_t line = 0;
  bool has_function = false;
  if (Unit *unit = unit_at(address)) {
    const UnitTables tables = unit->built ? unit->built->tables() : unit->cached->tables;
    if (auto row = row_at(tables.lines, tables.base, address); row && row->file != no_index) {
      file = text(*unit, row->file);
      line = row->line;
    }
    const auto range = row_at(tables.ranges, tables.base, address);
    // Compilers inline some tens of levels. Of a hostile file's thousands, the innermost ones and
    // the function are shown.
    constexpr size_t most_inlined = 256;
    uint32_t node = range ? range->node : no_index;
    for (size_t depth = 0; node < tables.nodes.size(); ++depth) {
      const NodeRow row = tables.nodes[node];
      const bool outermost = row.parent >= node;
      if (depth >= most_inlined && !outermost) {
        file = text(*unit, row.call_file);
        line = row.call_line;
        node = row.parent;
        continue;
      }
      SourceFrame frame = function_of(*unit, row.function);
      // Units with line tables only (-g1, -gmlt) have short names: no linkage name, no declaration.
      // Without the common part of dwz there are functions with a declaration and without a name.
      const bool nameless = frame.function.empty();
      if (outermost && frame.system_name.empty() && (nameless || frame.function_line == 0)) {
        if (const auto symbol = symbol_at(address);
            symbol && (nameless || symbol->system_name.starts_with("_Z"))) {
          frame.function = symbol->function;
          frame.system_name = symbol->system_name;
        }
      }
      frame.file = file;
      frame.line = line;
      out.push_back(frame);
      has_function = true;
      file = text(*unit, row.call_file);
      line = row.call_line;
      if (outermost) // a parent has a smaller number than its child, or the table is damaged
        break;
      node = row.parent;
    }
  }
  if (has_function)
    return;
  SourceFrame frame;
  if (auto symbol = symbol_at(address))
    frame = *symbol;
  else if (file.empty())
    return;
  frame.file = file;
  frame.line = line;
  out.push_back(frame);
}

void ModuleTable::take_diagnostics(Diagnostics &diagnostics) {
  diagnostics.append(opened_.diagnostics);
  opened_.diagnostics.clear();
}

void ModuleTable::save() {
  if (!cache_looked_for_ || files_.build_id.empty() || files_.vdso ||
      (!dirty_ && demangled_ < demangled_worth_writing))
    return;
  if (files_.lacks_alternate) // so names are missing
    return;
  // If a file could not be opened, the tables are incomplete and must not be cached.
  if (opened_.tried && (!opened_.main || (!files_.debug.empty() && !opened_.debug)))
    return;
  const std::string folder = options_.use_cache ? cache_directory() : std::string();
  if (folder.empty())
    return;
  const std::string path = cache_path(folder, files_.build_id);
  // Keep what another process wrote meanwhile.
  const std::unique_ptr<Cache> on_disk = Cache::open(path, source());
  make_folders(folder);
  write(on_disk.get(), path);
  if (on_disk && on_disk->damaged())
    write(nullptr, path);
  dirty_ = false;
  demangled_ = 0;
}

void ModuleTable::write(const Cache *on_disk, const std::string &path) {
  CacheWriter writer;
  auto own_text = [&](TextRef ref) {
    return writer.text(ref < pool_.size() ? pool_[StringId{ref}] : std::string_view());
  };
  for (auto &[key, unit] : units_) {
    if (!unit.built || !unit.built->whole)
      continue;
    BuiltUnit &built = *unit.built;
    CacheWriter::Unit out{key, built.base, built.ranges, built.lines, built.nodes, {}};
    for (LineRow &row : out.lines)
      row.file = row.file == no_index ? no_index : own_text(row.file);
    for (NodeRow &row : out.nodes)
      row.call_file = own_text(row.call_file);
    for (uint32_t i = 0; i < built.functions.size(); ++i) {
      opened_.dwarf->resolve(built, i);
      const FunctionRow &row = built.functions[i];
      out.functions.push_back(
          {own_text(row.linkage), own_text(row.display), own_text(row.file), row.line});
    }
    writer.add(out);
  }
  auto copy = [](const auto &rows, auto &out, auto &&change) {
    for (size_t i = 0; i < rows.size(); ++i) {
      auto row = rows[i];
      change(row, i);
      out.push_back(row);
    }
  };
  for (const Cache::Unit &cached : on_disk ? on_disk->units() : std::vector<Cache::Unit>()) {
    auto used = units_.find(cached.key);
    if (used != units_.end() && used->second.built)
      continue;
    auto disk_text = [&](TextRef ref) { return writer.text(on_disk->text(ref)); };
    CacheWriter::Unit out{cached.key, cached.tables.base, {}, {}, {}, {}};
    copy(cached.tables.ranges, out.ranges, [](RangeRow &, size_t) {});
    copy(cached.tables.lines, out.lines, [&](LineRow &row, size_t) {
      row.file = row.file == no_index ? no_index : disk_text(row.file);
    });
    copy(cached.tables.nodes, out.nodes,
         [&](NodeRow &row, size_t) { row.call_file = disk_text(row.call_file); });
    copy(cached.tables.functions, out.functions, [&](FunctionRow &row, size_t i) {
      row.linkage = disk_text(row.linkage);
      row.display = disk_text(row.display);
      row.file = disk_text(row.file);
      if (used == units_.end() || row.display)
        return;
      auto name = used->second.demangled.find(static_cast<uint32_t>(i));
      if (name != used->second.demangled.end())
        row.display = writer.text(name->second);
    });
    writer.add(out);
  }

  const bool disk_knows_more = on_disk && on_disk->has_all_units() && !unit_ranges_.all_units;
  std::vector<UnitRange> ranges;
  copy(disk_knows_more || !unit_ranges_.known ? on_disk ? on_disk->unit_ranges() : unit_ranges_.rows
                                              : unit_ranges_.rows,
       ranges, [](UnitRange &, size_t) {});
  writer.set_unit_ranges(std::move(ranges), unit_ranges_.all_units || disk_knows_more);

  const bool own = symbols_.known && !symbols_.cached;
  if (own || (on_disk && on_disk->has_symbols())) {
    std::vector<SymbolRow> symbols;
    copy(own ? symbols_.rows : on_disk->symbols(), symbols, [&](SymbolRow &row, size_t i) {
      row.name = own ? own_text(row.name) : writer.text(on_disk->text(row.name));
      row.display = own ? own_text(row.display) : writer.text(on_disk->text(row.display));
      // All processes build the same rows with the same numbers, so `i` is the same row on disk and
      // here.
      if (auto name = symbols_.demangled.find(i); name != symbols_.demangled.end() && !row.display)
        row.display = writer.text(name->second);
    });
    writer.set_symbols(std::move(symbols));
  }
  if (on_disk && on_disk->damaged())
    return;
  if (const std::string bytes = writer.finish(source()); !bytes.empty())
    (void)write_file(path, bytes);
}

} // namespace tally::symbolize
