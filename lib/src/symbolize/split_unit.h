// Makes an ELF file in memory for one split unit, which libdw reads as if it were a file of its
// own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <elfutils/libdw.h>

#include "support/result.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize {

struct SplitUnit {
  std::unique_ptr<ElfFile> file;
  DwarfHandle dwarf;
  Dwarf_Die die{};
  std::string rnglists; // .debug_rnglists.dwo; empty if there is none
};

// The content of the unit's sections, whose names end in ".dwo".
struct SplitParts {
  std::string info, abbrev, str_offsets, rnglists;
  std::string_view all_strings; // .debug_str.dwo, which all units of a package share
};

// Returns the unit with an ID, or nullptr if `parts.info` does not contain it. The image contains
// only those strings that the unit uses. `like` has the byte order and the machine, and `path` is
// the file, for errors.
Result<std::unique_ptr<SplitUnit>> make_split_unit(const ElfFile &like, const std::string &path,
                                                   uint64_t id, SplitParts parts);

} // namespace tally::symbolize
