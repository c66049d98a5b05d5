// Reads where functions begin from the unwind data, which even a stripped file has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "symbolize/elf_file.h"

namespace tally::symbolize {

class UnwindStarts {
public:
  // Reads the search table of .eh_frame_hdr or, if there is none, the FDEs of .eh_frame. Returns an
  // empty table if the file has neither, or only in encodings that no compiler or linker writes.
  // The Linux Standard Base (Core 5.0, sections 10.6.1 and 10.6.2) specifies the layouts.
  static UnwindStarts read(const ElfFile &file);

  // Returns the start of the last function that begins at or before a link-time address.
  std::optional<uint64_t> before(uint64_t address) const;

private:
  std::vector<uint64_t> starts_; // ascending
};

} // namespace tally::symbolize
