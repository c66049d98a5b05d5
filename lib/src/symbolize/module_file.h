// Which files a module's names come from: the very file that is mapped, and its debug file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/symbolizer.h>

#include "symbolize/elf_file.h"

namespace tally::symbolize {

struct ModuleFiles {
  bool vdso = false;
  std::string main; // a path that opens the mapped file; empty: there is none to be had
  FileIdentity main_identity;
  std::string name;  // the same without the way through /proc
  std::string debug; // the separate debug file; empty: none
  FileIdentity debug_identity;
  std::string build_id;
  std::vector<Segment> code;
  bool main_has_dwarf = false;

  // Nothing where the file has gone, or was replaced since it was found.
  std::optional<ElfFile> open_main() const;
  std::optional<ElfFile> open_debug() const;
  // Symbolizer's own, see there.
  std::optional<uint64_t> link_address(uint64_t file_offset) const;
};

// A file that was replaced since it was mapped is never used. Says in `diagnostics` what is
// missing.
ModuleFiles find_files(const ModuleKey &key, const std::vector<std::string> &debug_directories,
                       Diagnostics &diagnostics);

} // namespace tally::symbolize
