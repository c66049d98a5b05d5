// The functions of an ELF symbol table, for code that no debug information covers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tally/strings.h>

#include "symbolize/elf_file.h"
#include "symbolize/tables.h"

namespace tally::symbolize {

// Sorted and disjoint. .symtab of `debug` (may be nullptr) or of `main`, whichever has one, else
// .dynsym of `main`; and `name@plt` for the stubs of `main`. `display` is left empty.
std::vector<SymbolRow> read_symbols(const ElfFile &main, const ElfFile *debug, StringPool &pool);

// The same tables as gprof takes them: each symbol reaches to the next one, sizes do not count. See
// FORMAT.md of formats/gmon for which symbols these are.
std::vector<SymbolRow> read_functions(const ElfFile &main, const ElfFile *debug, StringPool &pool);

// Where the code symbols of that name begin, ascending, by all tables of both files. A version
// ("write@@GLIBC_2.2.5") is not part of the name.
std::vector<uint64_t> symbol_addresses(const ElfFile &main, const ElfFile *debug,
                                       std::string_view name);

} // namespace tally::symbolize
