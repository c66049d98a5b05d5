// Where functions begin, by the search table of .eh_frame_hdr: what a stripped file still tells.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <libelf.h>

namespace tally::symbolize {

class UnwindStarts {
public:
  // Empty where the file has no such table, or one in an encoding that no linker writes
  // (Linux Standard Base, Core 5.0, 10.6.2: version 1, then the three encodings).
  static UnwindStarts read(Elf *elf);

  // The last function that begins at or before a link-time address.
  std::optional<uint64_t> before(uint64_t address) const;

private:
  std::vector<uint64_t> starts_; // ascending
};

} // namespace tally::symbolize
