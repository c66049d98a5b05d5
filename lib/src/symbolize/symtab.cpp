#include "symbolize/symtab.h"

#include <algorithm>
#include <map>
#include <string>

#include <elf.h>
#include <gelf.h>

#include "support/file_budget.h"
#include "support/sort.h"
#include "symbolize/die_scan.h"

namespace tally::symbolize {

namespace {

struct Symbol {
  uint64_t address;
  uint64_t size;
  std::string_view name;
  int rank; // of several symbols at one address, the one with the highest rank is shown
};

// ARM, AArch64 and RISC-V mark code and data by $a, $d, $t, $x (and $x.name).
bool is_mapping_symbol(std::string_view name) {
  return name.size() >= 2 && name[0] == '$' &&
         std::string_view("adtx").find(name[1]) != std::string_view::npos &&
         (name.size() == 2 || name[2] == '.');
}

// Ranks a function above a label. Among equals, ranks a symbol with a size above one without; then
// a global symbol above a weak one, and a weak one above a local one.
int rank_of(const GElf_Sym &symbol) {
  int rank = 0;
  switch (GELF_ST_BIND(symbol.st_info)) {
  case STB_GLOBAL:
  case STB_GNU_UNIQUE:
    rank = 2;
    break;
  case STB_WEAK:
    rank = 1;
    break;
  default:
    break;
  }
  if (GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE)
    rank += 8;
  if (symbol.st_size)
    rank += 4;
  return rank;
}

Elf_Scn *section_of_type(const ElfFile &file, unsigned type) {
  Elf_Scn *section = nullptr;
  while ((section = elf_nextscn(file.elf(), section))) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == type && header.sh_size)
      return section;
  }
  return nullptr;
}

// Calls take(symbol, name) for each defined symbol with a name. The lowest bit of a function of ARM
// is not part of its address: it tells that the code is Thumb (ELF for the Arm Architecture,
// section 5.5.3).
template <class Take> void for_each_symbol(const ElfFile &file, Elf_Scn *section, Take take) {
  const bool is_arm = file.machine() == EM_ARM;
  file.visit_symbols(section, [&](GElf_Sym symbol, std::string_view name) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (is_arm && (type == STT_FUNC || type == STT_GNU_IFUNC))
      symbol.st_value &= ~GElf_Addr{1};
    if (!name.empty())
      take(symbol, name);
  });
}

std::vector<Symbol> read_table(const ElfFile &file, Elf_Scn *section, const CodeRanges &code) {
  std::vector<Symbol> symbols;
  for_each_symbol(file, section, [&](const GElf_Sym &symbol, std::string_view name) {
    const int type = GELF_ST_TYPE(symbol.st_info);
    if ((type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
        code.contains(symbol.st_value) && !is_mapping_symbol(name))
      symbols.push_back({symbol.st_value, symbol.st_size, name, rank_of(symbol)});
  });
  return symbols;
}

// Returns whether gprof takes the symbol for a function, as observed with programs that contain
// symbols of each kind: global and weak names of any type, and local names unless the compiler
// generated them.
bool begins_function(const GElf_Sym &symbol, std::string_view name) {
  switch (GELF_ST_TYPE(symbol.st_info)) {
  case STT_SECTION:
  case STT_FILE:
  case STT_TLS:
  case STT_GNU_IFUNC: // its address is the resolver's, not that of the selected function
    return false;
  default:
    break;
  }
  if (is_mapping_symbol(name))
    return false;
  if (GELF_ST_BIND(symbol.st_info) != STB_LOCAL)
    return true;
  if (name.starts_with("__gnu_compiled") || name.starts_with("___gnu_compiled"))
    return false;
  return name.find_first_of(".$") == name.npos || name.find(".clone.") != name.npos ||
         name.find(".constprop.") != name.npos;
}

// Ranks the symbols at one address. A global symbol ranks above a local one; then a function ranks
// above other symbols; then the name with the fewest leading underscores wins. Of equal symbols,
// the first in the table is used.
int function_rank(const GElf_Sym &symbol, std::string_view name) {
  const auto underscores = static_cast<int>(std::min(name.find_first_not_of('_'), size_t{15}));
  return (GELF_ST_BIND(symbol.st_info) != STB_LOCAL ? 64 : 0) +
         (GELF_ST_TYPE(symbol.st_info) == STT_FUNC ? 32 : 0) - underscores;
}

// Computes what each symbol covers. Sizes come from the file; a symbol of size 0 reaches to the
// next one or to the section's end. Bytes of a symbol that lies inside another one belong to the
// inner symbol only.
std::vector<ScanRange> cover(std::vector<Symbol> &symbols, const CodeRanges &code) {
  std::sort(symbols.begin(), symbols.end(), [](const Symbol &a, const Symbol &b) {
    if (a.address != b.address)
      return a.address < b.address;
    if (a.rank != b.rank)
      return a.rank < b.rank;
    // Ties go to the shorter name, then to the one that sorts first, so the result does not depend
    // on the order of the table.
    return a.name.size() != b.name.size() ? a.name.size() > b.name.size() : a.name > b.name;
  });
  std::vector<ScanRange> ranges;
  ranges.reserve(symbols.size());
  uint64_t next = UINT64_MAX;
  for (size_t i = symbols.size(); i-- > 0;) {
    if (i + 1 < symbols.size() && symbols[i + 1].address != symbols[i].address)
      next = symbols[i + 1].address;
    const Symbol &symbol = symbols[i];
    uint64_t high = 0;
    if (symbol.size && symbol.size <= UINT64_MAX - symbol.address)
      high = symbol.address + symbol.size;
    else
      high = std::min(next, code.end_of(symbol.address));
    ranges.push_back({symbol.address, high, i});
  }
  return flatten(std::move(ranges));
}

// Names the stubs of the procedure linkage table. The n-th relocation of .rela.plt belongs to the
// n-th stub, after a header in .plt and without one in .plt.sec. The stubs of .plt.got, one for
// each GLOB_DAT relocation, are not named.
void name_stubs(const ElfFile &file, StringPool &pool, std::vector<SymbolRow> &rows) {
  GElf_Ehdr elf_header;
  if (!gelf_getehdr(file.elf(), &elf_header) || elf_header.e_machine != EM_X86_64)
    return;
  Elf_Scn *relocations = file.section(".rela.plt");
  Elf_Scn *second = file.section(".plt.sec");
  Elf_Scn *stubs = second ? second : file.section(".plt");
  GElf_Shdr header;
  GElf_Shdr stub_header;
  if (!relocations || !stubs || !gelf_getshdr(relocations, &header) ||
      !gelf_getshdr(stubs, &stub_header) || header.sh_type != SHT_RELA)
    return;
  Elf_Data *data = elf_getdata(relocations, nullptr);
  Elf_Scn *symbols = elf_getscn(file.elf(), header.sh_link);
  GElf_Shdr symbols_header;
  Elf_Data *symbol_data = symbols ? elf_getdata(symbols, nullptr) : nullptr;
  if (!data || !symbol_data || !gelf_getshdr(symbols, &symbols_header))
    return;
  constexpr uint64_t stub_size = 16;
  uint64_t at = stub_header.sh_addr + (second ? 0 : stub_size);
  const uint64_t end = stub_header.sh_addr + stub_header.sh_size;
  const size_t count = data->d_size / gelf_fsize(file.elf(), ELF_T_RELA, 1, EV_CURRENT);
  FileBudget budget(file.size());
  for (size_t i = 0; i < count && i < INT32_MAX && at < end && end - at >= stub_size;
       ++i, at += stub_size) {
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (!gelf_getrela(data, static_cast<int>(i), &relocation))
      return;
    if (!gelf_getsym(symbol_data, static_cast<int>(GELF_R_SYM(relocation.r_info) & 0x7fffffff),
                     &symbol))
      continue;
    const auto name =
        budget.take_name(elf_strptr(file.elf(), symbols_header.sh_link, symbol.st_name));
    if (name && !name->empty())
      rows.push_back({at, at + stub_size, index_of(pool.intern(std::string(*name) + "@plt")), 0});
  }
}

} // namespace

std::vector<SymbolRow> read_functions(const ElfFile &main, const ElfFile *debug, StringPool &pool) {
  const CodeRanges code = main.code_ranges();
  std::map<uint64_t, Symbol> first; // by address
  const auto read = [&](const ElfFile &file, unsigned type) {
    if (Elf_Scn *table = section_of_type(file, type))
      for_each_symbol(file, table, [&](const GElf_Sym &symbol, std::string_view name) {
        if (!code.contains(symbol.st_value) || !begins_function(symbol, name))
          return;
        const Symbol found{symbol.st_value, symbol.st_size, name, function_rank(symbol, name)};
        const auto [at, added] = first.try_emplace(symbol.st_value, found);
        if (!added && at->second.rank < found.rank)
          at->second = found;
      });
  };
  read(main, SHT_SYMTAB);
  if (first.empty() && debug)
    read(*debug, SHT_SYMTAB);
  if (first.empty())
    read(main, SHT_DYNSYM);
  std::vector<SymbolRow> rows;
  for (auto at = first.begin(); at != first.end(); ++at) {
    const auto next = std::next(at);
    rows.push_back({at->first, next == first.end() ? code.end_of(at->first) : next->first,
                    index_of(pool.intern(at->second.name)), 0});
  }
  return rows;
}

std::vector<uint64_t> function_starts(const ElfFile &main, const ElfFile *debug) {
  std::vector<uint64_t> out;
  const auto read = [&out](const ElfFile &file, unsigned type) {
    Elf_Scn *const section = section_of_type(file, type);
    Elf_Data *const data = section ? elf_getdata(section, nullptr) : nullptr;
    GElf_Sym symbol;
    for (int i = 1; data && i < INT32_MAX && gelf_getsym(data, i, &symbol); ++i)
      if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        out.push_back(symbol.st_value);
  };
  if (debug)
    read(*debug, SHT_SYMTAB);
  if (out.empty())
    read(main, SHT_SYMTAB);
  if (out.empty())
    read(main, SHT_DYNSYM);
  std::ranges::sort(out);
  return out;
}

std::vector<uint64_t> symbol_addresses(const ElfFile &main, const ElfFile *debug,
                                       std::string_view name) {
  const CodeRanges code = main.code_ranges();
  std::vector<uint64_t> out;
  const auto search = [&](const ElfFile &file, unsigned type) {
    Elf_Scn *table = section_of_type(file, type);
    if (table)
      for_each_symbol(file, table, [&](const GElf_Sym &symbol, std::string_view each) {
        if (each.substr(0, each.find('@')) == name && code.contains(symbol.st_value) &&
            GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC) // its resolver only selects the function
          out.push_back(symbol.st_value);
      });
  };
  search(main, SHT_SYMTAB);
  search(main, SHT_DYNSYM);
  if (debug)
    search(*debug, SHT_SYMTAB);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<SymbolRow> read_symbols(const ElfFile &main, const ElfFile *debug, StringPool &pool) {
  const CodeRanges code = main.code_ranges();
  std::vector<Symbol> symbols;
  for (const ElfFile *file : {debug, &main}) {
    Elf_Scn *table = file ? section_of_type(*file, SHT_SYMTAB) : nullptr;
    if (table && symbols.empty())
      symbols = read_table(*file, table, code);
  }
  // .gnu_debugdata does not repeat the symbols of .dynsym.
  if (symbols.empty() || (debug && debug->is_image())) {
    if (Elf_Scn *table = section_of_type(main, SHT_DYNSYM))
      for (Symbol &symbol : read_table(main, table, code))
        symbols.push_back(symbol);
  }
  std::vector<SymbolRow> rows;
  for (const ScanRange &range : cover(symbols, code))
    rows.push_back({range.low, range.high, index_of(pool.intern(symbols[range.priority].name)), 0});

  // Add a stub only if no symbol is there, because a linker may have named it itself.
  std::vector<SymbolRow> stubs;
  name_stubs(main, pool, stubs);
  const auto by_address = [](const SymbolRow &a, const SymbolRow &b) { return a.low < b.low; };
  std::erase_if(stubs, [&](const SymbolRow &stub) {
    auto after = std::lower_bound(rows.begin(), rows.end(), stub, by_address);
    return (after != rows.end() && after->low < stub.high) ||
           (after != rows.begin() && (after - 1)->high > stub.low);
  });
  const auto middle = rows.insert(rows.end(), stubs.begin(), stubs.end());
  std::inplace_merge(rows.begin(), middle, rows.end(), by_address);
  return rows;
}

} // namespace tally::symbolize
