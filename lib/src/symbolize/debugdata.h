// The symbols that a stripped file keeps in .gnu_debugdata ("MiniDebugInfo"): an ELF file with a
// symbol table, packed by xz.
#pragma once

#include <optional>

#include "symbolize/elf_file.h"

namespace tally::symbolize {

// Returns nothing if the file has none, if it is damaged or unpacks to more than a limit, or if
// Tally was built without liblzma.
std::optional<ElfFile> open_debugdata(const ElfFile &file);

} // namespace tally::symbolize
