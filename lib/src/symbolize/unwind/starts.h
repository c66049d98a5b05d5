// Reads where functions begin from the search table of .eh_frame_hdr, which even a stripped file
// has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <libelf.h>

namespace tally::symbolize {

class UnwindStarts {
public:
  // Returns an empty table if the file has no search table, or if the table is in an encoding that
  // no linker writes. The Linux Standard Base (Core 5.0, section 10.6.2) specifies the layout: the
  // version, which is 1, then three encodings.
  static UnwindStarts read(Elf *elf);

  // Returns the start of the last function that begins at or before a link-time address.
  std::optional<uint64_t> before(uint64_t address) const;

private:
  std::vector<uint64_t> starts_; // ascending
};

} // namespace tally::symbolize
