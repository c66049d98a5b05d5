// Reads the functions of an ELF symbol table, for code that no debug information covers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/strings.h"
#include "symbolize/elf_file.h"
#include "symbolize/tables.h"

namespace tally::symbolize {

// Returns sorted, disjoint rows from .symtab of `debug` (may be nullptr) or of `main`, whichever
// has one, otherwise from .dynsym of `main`; and `name@plt` for the stubs of `main`. `display` is
// left empty.
std::vector<SymbolRow> read_symbols(const ElfFile &main, const ElfFile *debug, StringPool &pool);

// Reads the same tables as gprof does: each symbol reaches to the next one, and sizes are ignored.
// FORMAT.md of formats/gmon describes which symbols these are.
std::vector<SymbolRow> read_functions(const ElfFile &main, const ElfFile *debug, StringPool &pool);

// Returns where functions begin, ascending, from .symtab of one of the files, otherwise from
// .dynsym of `main`. Reads no names, which takes a tenth of the time.
std::vector<uint64_t> function_starts(const ElfFile &main, const ElfFile *debug);

// Returns the addresses of the code symbols with that name, ascending, from all tables of both
// files. A version ("write@@GLIBC_2.2.5") is not part of the name.
std::vector<uint64_t> symbol_addresses(const ElfFile &main, const ElfFile *debug,
                                       std::string_view name);

} // namespace tally::symbolize
