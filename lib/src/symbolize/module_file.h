// Finds the files that a module's names come from: the file that is mapped, and its debug file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/symbolizer.h"
#include "support/diagnostics.h"
#include "symbolize/elf_file.h"
#include "symbolize/mapped_files.h"

namespace tally {
class KeptFile;
}

namespace tally::symbolize {

struct ModuleFiles {
  bool vdso = false;
  std::string main; // a path that opens the mapped file; empty if there is none
  FileIdentity main_identity;
  std::shared_ptr<const KeptFile> kept; // what a sampler has kept of it, so that `main` stays valid
  std::string name;                     // the same file without the path through /proc
  std::string debug;                    // the separate debug file; empty if there is none
  FileIdentity debug_identity;
  bool debug_has_dwarf = false;
  std::string alternate; // the file of .gnu_debugaltlink if it was fetched; otherwise it is sought
  // The file of .gnu_debugaltlink is missing, but a later attempt may fetch it.
  bool lacks_alternate = false;
  std::string build_id;
  std::vector<Segment> code;
  bool main_has_dwarf = false;

  // Return nothing if the file is gone, or was replaced after it was found.
  std::optional<ElfFile> open_main() const;
  std::optional<ElfFile> open_debug() const;
  // Returns the paths where a DWARF package (.dwp) of this module may be, the best one first.
  std::vector<std::string> packages(const std::vector<std::string> &debug_directories) const;
  // Returns whether a server may have more debug information than there is here.
  bool lacks_debug_file() const {
    return !main.empty() && !build_id.empty() && !main_has_dwarf && !debug_has_dwarf;
  }
  // Implements the function of Symbolizer that has the same name.
  std::optional<uint64_t> link_address(uint64_t file_offset) const;
};

// Finds the files of a module, in `sources` first. A file that was replaced after it was mapped is
// never used. Reports in `diagnostics` what is missing. Calls for many modules share `mapped`.
ModuleFiles find_files(const ModuleKey &key, const std::vector<std::string> &debug_directories,
                       Diagnostics &diagnostics, MappedFiles &mapped,
                       const ModuleSources &sources = {});

} // namespace tally::symbolize
