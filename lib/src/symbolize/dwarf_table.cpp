#include "symbolize/dwarf_table.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fmt/format.h>

#include "symbolize/source_language.h"

namespace tally::symbolize {

namespace {

const char *string_of(Dwarf_Die &die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(&die, name, &attribute) ? dwarf_formstring(&attribute) : nullptr;
}

// Returns the name of a section that libelf has not decompressed, or nullptr.
const char *unknown_compression(const ElfFile &file) {
  for (const char *name : {".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"}) {
    GElf_Shdr header;
    if (Elf_Scn *found = file.section(name);
        found && gelf_getshdr(found, &header) && (header.sh_flags & SHF_COMPRESSED))
      return name;
  }
  return nullptr;
}

} // namespace

static std::optional<AlternateLink> link_of(Dwarf *dwarf) {
  const char *name = nullptr;
  const void *id = nullptr;
  const ssize_t id_size = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
  if (id_size <= 0 || !name)
    return std::nullopt;
  return AlternateLink{name, to_hex(id, static_cast<size_t>(id_size))};
}

std::optional<AlternateLink> alternate_link(const ElfFile &file) {
  const DwarfHandle dwarf = file.open_dwarf();
  return dwarf ? link_of(dwarf.get()) : std::nullopt;
}

std::optional<ElfFile> open_alternate(const AlternateLink &link, const std::string &path,
                                      const std::vector<std::string> &debug_directories) {
  const auto &[name, hex] = link;
  std::vector<std::string> candidates;
  if (name.starts_with('/'))
    candidates.push_back(name);
  else if (auto slash = path.rfind('/'); slash != std::string::npos)
    candidates.push_back(path.substr(0, slash + 1) + name);
  for (const std::string &directory : debug_directories) {
    if (hex.size() > 2)
      candidates.push_back(directory + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) +
                           ".debug");
    if (const size_t dwz = name.find("/.dwz/"); dwz != std::string::npos)
      candidates.push_back(directory + name.substr(dwz));
  }
  for (const std::string &candidate : candidates) {
    auto file = ElfFile::open(candidate);
    if (file && file->build_id() == hex)
      return std::move(*file);
  }
  return std::nullopt;
}

std::unique_ptr<DwarfTable> DwarfTable::open(const ElfFile &file, const std::string &path,
                                             const std::string &alternate,
                                             const std::vector<std::string> &debug_directories,
                                             std::vector<std::string> packages, StringPool &pool,
                                             Diagnostics &diagnostics) {
  std::unique_ptr<DwarfTable> table(new DwarfTable(file, path, pool, diagnostics));
  table->dwarf_ = file.open_dwarf();
  if (const char *section = unknown_compression(file))
    diagnostics.add(
        Severity::note,
        fmt::format("{} is compressed in a way that libelf does not support (zstd?), so "
                    "functions may lack lines and inlined functions",
                    section),
        path);
  if (!table->dwarf_)
    return nullptr;
  // libdw 0.188 takes DW_FORM_ref_sup4 and DW_FORM_strp_sup for references to the file itself, and
  // so finds names of other functions.
  if (file.has_section(".debug_sup")) {
    table->has_functions_ = false;
    diagnostics.add(Severity::note,
                    "a supplementary file of DWARF 5 (.debug_sup) is not supported, so inlined "
                    "functions are missing; dwz without --dwarf-5 makes one that is",
                    path);
  }
  table->code_ = file.code_ranges();
  table->line_sections_ = LineSections::of(file);
  table->split_units_.emplace(file, path, std::move(packages), diagnostics);
  if (!alternate.empty()) {
    auto known = ElfFile::open(alternate);
    table->use_alternate(alternate, known ? std::optional(std::move(*known)) : std::nullopt);
  } else if (const auto link = link_of(table->dwarf_.get())) {
    table->use_alternate(link->name, open_alternate(*link, path, debug_directories));
  }
  return table;
}

// Without a file, libdw's own search applies.
void DwarfTable::use_alternate(const std::string &name, std::optional<ElfFile> file) {
  if (file) {
    alternate_file_ = std::make_unique<ElfFile>(std::move(*file));
    alternate_ = alternate_file_->open_dwarf();
    if (alternate_) {
      dwarf_setalt(dwarf_.get(), alternate_.get());
      alternate_file_->spare_descriptors();
      return;
    }
  }
  lacks_alternate_ = !search_alternate(dwarf_.get(), path_, ended_);
  if (lacks_alternate_)
    diagnostics_.add(Severity::note,
                     fmt::format("its common debug information \"{}\" was not found, so functions "
                                 "may lack names",
                                 name),
                     path_);
}

TextRef DwarfTable::intern(const char *text) {
  const auto name = budget_.take_name(text);
  return name ? index_of(pool_.intern(*name)) : 0;
}

LineTable &DwarfTable::lines_of(Dwarf_CU *unit) {
  std::shared_ptr<LineTable> &table = lines_.of_units[unit];
  if (!table) {
    Dwarf_Die die{};
    uint8_t type = 0;
    dwarf_cu_info(unit, nullptr, &type, &die, nullptr, nullptr, nullptr, nullptr);
    const bool here = dwarf_cu_getdwarf(unit) == dwarf_.get() && type != DW_UT_split_compile;
    if (here && lines_.newest && lines_.newest->serves(die))
      return *(table = lines_.newest);
    table = std::make_shared<LineTable>(die, here ? &line_sections_ : nullptr, pool_, budget_);
    if (here)
      lines_.newest = table;
  }
  return *table;
}

std::vector<ScanRange> DwarfTable::arange_list() {
  std::vector<ScanRange> ranges;
  Dwarf_Aranges *aranges = nullptr;
  size_t count = 0;
  if (dwarf_getaranges(dwarf_.get(), &aranges, &count) != 0)
    return ranges;
  ranges.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Addr low = 0;
    Dwarf_Word length = 0;
    Dwarf_Off unit = 0;
    if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &low, &length, &unit) == 0 &&
        code_.contains(low) && length <= UINT64_MAX - low)
      ranges.push_back({low, low + length, ~uint64_t{unit}});
  }
  return ranges;
}

// Where units overlap, the one that comes first in .debug_info wins.
std::vector<UnitRange> DwarfTable::unit_map(std::vector<ScanRange> ranges) const {
  std::vector<UnitRange> map;
  for (const ScanRange &range : flatten(std::move(ranges)))
    map.push_back({range.low, range.high, ~range.priority});
  return map;
}

std::vector<UnitRange> DwarfTable::unit_ranges() { return unit_map(arange_list()); }

std::vector<UnitRange> DwarfTable::all_unit_ranges() {
  std::vector<ScanRange> ranges = arange_list();
  ScanBudget budget;
  Dwarf_CU *unit = nullptr;
  Dwarf_Die die;
  uint8_t type = 0;
  // Split units are not asked for, because libdw would open all their files.
  while (dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &type, &die, nullptr) == 0) {
    if (type == DW_UT_type || type == DW_UT_split_type || !die.addr)
      continue;
    const uint64_t priority = ~uint64_t{dwarf_dieoffset(&die)};
    const size_t before = ranges.size();
    const UnitAddresses addresses(die, split_units_->sections());
    addresses.visit_code(die, budget.ranges, [&](uint64_t low, uint64_t high) {
      if (low < high && code_.contains(low))
        ranges.push_back({low, high, priority});
    });
    if (ranges.size() != before || dwarf_hasattr(&die, DW_AT_ranges) ||
        dwarf_hasattr(&die, DW_AT_high_pc) || type != DW_UT_compile)
      continue;
    // This unit does not state what it covers, so its functions determine it.
    for (ScanRange range : scan_unit(die, code_, addresses, budget).ranges) {
      range.priority = priority;
      ranges.push_back(range);
    }
  }
  return unit_map(std::move(ranges));
}

// Returns the rows that cover [low, high). They are sorted by address.
static std::span<const AddressedLine> between(std::span<const AddressedLine> lines, uint64_t low,
                                              uint64_t high) {
  const auto place = [&](uint64_t address) {
    return static_cast<size_t>(
        std::ranges::upper_bound(lines, address, {}, &AddressedLine::address) - lines.begin());
  };
  const size_t first = place(low) - (place(low) > 0 ? 1 : 0);
  return low < high ? lines.subspan(first, place(high) - first) : lines.first(0);
}

std::unique_ptr<BuiltUnit> DwarfTable::build(uint64_t unit) {
  auto built = std::make_unique<BuiltUnit>();
  built->key = unit;
  Dwarf_Die die;
  if (!dwarf_offdie(dwarf_.get(), unit, &die))
    return built;
  Dwarf_Die inner = die; // contains the functions: the split unit, if there is one
  uint8_t type = 0;
  std::optional<SplitUnits::Found> split;
  if (dwarf_cu_info(die.cu, nullptr, &type, nullptr, nullptr, nullptr, nullptr, nullptr) == 0 &&
      type == DW_UT_skeleton) {
    split = split_units_->find(die);
    built->whole = split.has_value();
    if (split)
      inner = split->die;
  }
  built->cpp = is_cpp(dwarf_srclang(&inner));

  UnitScan scan;
  ScanBudget budget;
  constexpr uint64_t bytes_of_range = 16;
  const auto most_ranges =
      static_cast<uint32_t>(std::min<uint64_t>(budget.ranges, budget_.left() / bytes_of_range));
  budget.ranges = most_ranges;
  if (has_functions_)
    scan =
        scan_unit(inner, code_,
                  split ? split->addresses : UnitAddresses(die, split_units_->sections()), budget);
  budget_.take(bytes_of_range * (most_ranges - budget.ranges));
  built->scopes.emplace(inner.cu, std::move(scan.scopes));
  const std::vector<ScanRange> ranges = flatten(std::move(scan.ranges));
  // The skeleton's table of files is also that of the split unit (DWARF 5, section 3.1.3). If there
  // is another one in .debug_line.dwo, it belongs to type units.
  if (inner.cu != die.cu) {
    lines_of(die.cu);
    lines_.of_units[inner.cu] = lines_.of_units[die.cu];
  }
  LineTable &files = lines_of(inner.cu), &own_lines = lines_of(die.cu);
  std::vector<AddressedLine> unshared;
  std::span<const AddressedLine> lines = own_lines.rows(code_, unshared);
  if (own_lines.is_shared())
    lines = between(lines, ranges.empty() ? 0 : ranges.front().low,
                    ranges.empty() ? 0 : ranges.back().high);

  built->base = std::min(ranges.empty() ? UINT64_MAX : ranges.front().low,
                         lines.empty() ? UINT64_MAX : lines.front().address);
  auto offset_of = [&](uint64_t address) {
    return address - built->base < no_index ? static_cast<uint32_t>(address - built->base)
                                            : no_index;
  };
  built->ranges.reserve(ranges.size() + ranges.size() / 4 + 1);
  uint64_t end = built->base;
  for (const ScanRange &range : ranges) {
    if (range.low != end)
      built->ranges.push_back({offset_of(end), no_index});
    built->ranges.push_back({offset_of(range.low), static_cast<uint32_t>(range.priority)});
    end = range.high;
  }
  built->ranges.push_back({offset_of(end), no_index});
  built->lines.reserve(lines.size());
  for (const AddressedLine &line : lines) {
    // Rows that change neither file nor line (a new column, a new statement) are not needed.
    if (built->lines.empty() || built->lines.back().file != line.file ||
        built->lines.back().line != line.line)
      built->lines.push_back({offset_of(line.address), line.file, line.line});
  }

  std::unordered_map<void *, uint32_t> functions;
  built->nodes.reserve(scan.nodes.size());
  for (const ScanNode &node : scan.nodes) {
    auto [found, is_new] =
        functions.try_emplace(node.function.address, static_cast<uint32_t>(built->dies.size()));
    if (is_new)
      built->dies.push_back(node.function);
    built->nodes.push_back(
        {found->second, node.parent, files.file(node.call_file), node.call_line});
  }
  built->functions.resize(built->dies.size());
  if (budget_.left() < bytes_of_range) {
    built->whole = false;
    diagnostics_.add(Severity::warning,
                     "refers many times to the same tables, and is read no further: some names and "
                     "lines are missing",
                     path_);
  }
  return built;
}

void DwarfTable::resolve(BuiltUnit &unit, uint32_t function) {
  if (function >= unit.dies.size() || !unit.dies[function].address)
    return;
  Dwarf_Die die = die_at(unit.dies[function]);
  unit.dies[function].address = nullptr;
  FunctionRow &row = unit.functions[function];
  const char *linkage = string_of(die, DW_AT_linkage_name);
  if (!linkage)
    linkage = string_of(die, DW_AT_MIPS_linkage_name); // used before DWARF 4
  row.linkage = intern(linkage);
  if (const auto name = budget_.take_name(linkage ? nullptr : dwarf_diename(&die)))
    row.display =
        index_of(pool_.intern(unit.cpp ? qualified_name(unit, die, *name) : std::string(*name)));
  // The value of DW_AT_decl_file refers to the file table of the unit that contains the attribute.
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0;
  if (dwarf_attr_integrate(&die, DW_AT_decl_file, &attribute) &&
      dwarf_formudata(&attribute, &file) == 0)
    row.file = lines_of(attribute.cu).file(file);
  int line = 0;
  if (dwarf_decl_line(&die, &line) == 0 && line > 0)
    row.line = static_cast<uint32_t>(line);
}

// libdw's own search for scopes calls itself for each level of a tree of DIEs, however deep it is.
static const UnitScopes &scopes_of(BuiltUnit &built, Dwarf_CU *unit) {
  static const UnitScopes none;
  constexpr size_t most_units = 256;
  if (const auto known = built.scopes.find(unit); known != built.scopes.end())
    return known->second;
  Dwarf_Die die{};
  if (built.scopes.size() >= most_units ||
      dwarf_cu_info(unit, nullptr, nullptr, &die, nullptr, nullptr, nullptr, nullptr) != 0 ||
      !die.addr)
    return none;
  ScanBudget budget;
  UnitScan scan = scan_unit(die, CodeRanges(), UnitAddresses(die, AddressSections()), budget);
  return built.scopes.emplace(unit, std::move(scan.scopes)).first->second;
}

// Returns the name with the namespaces and classes around it, as in C++, but without parameters.
std::string DwarfTable::qualified_name(BuiltUnit &unit, Dwarf_Die function, std::string_view name) {
  // The scope contains the declaration. Follow at most 16 links, as libdw does.
  for (int links = 0; links < 16; ++links) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    if ((!dwarf_attr(&function, DW_AT_abstract_origin, &attribute) &&
         !dwarf_attr(&function, DW_AT_specification, &attribute)) ||
        !dwarf_formref_die(&attribute, &next))
      break;
    function = next;
  }
  std::string text(name);
  auto prepend = [&](Dwarf_Die scope) {
    if (const auto scope_name = budget_.take_name(dwarf_diename(&scope)))
      text = std::string(*scope_name) + "::" + text;
    else if (dwarf_tag(&scope) == DW_TAG_namespace)
      text = "(anonymous namespace)::" + text;
  };
  const UnitScopes &known = scopes_of(unit, function.cu);
  const auto member = std::ranges::lower_bound(known.members, function.addr, {}, &ScanMember::die);
  if (member == known.members.end() || member->die != function.addr)
    return text;
  constexpr size_t most_bytes = 1U << 16; // of a name; scopes may be nested and named without limit
  for (uint32_t i = member->scope; i < known.all.size() && text.size() < most_bytes;
       i = known.all[i].parent)
    prepend(die_at({known.all[i].die, function.cu}));
  return text;
}

} // namespace tally::symbolize
