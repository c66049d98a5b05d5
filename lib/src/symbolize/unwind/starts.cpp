#include "symbolize/unwind/starts.h"

#include <algorithm>

#include <gelf.h>

#include "symbolize/dwarf_cursor.h"
#include "symbolize/unwind/frame_entries.h"

namespace tally::symbolize {

UnwindStarts UnwindStarts::read(const ElfFile &file) {
  UnwindStarts out;
  for (const ListedFunction &each : listed_functions(file))
    out.starts_.push_back(each.start);
  if (out.starts_.empty()) { // linkers leave out .eh_frame_hdr in static programs
    GElf_Shdr header;
    if (Elf_Scn *const section = file.section(".eh_frame");
        section && gelf_getshdr(section, &header))
      out.starts_ = described_starts({.bytes = file.content_of(".eh_frame"),
                                      .address = header.sh_addr,
                                      .swap = swaps_bytes(file.elf()),
                                      .pointer_bytes = file.pointer_size()});
  }
  if (!std::ranges::is_sorted(out.starts_))
    std::ranges::sort(out.starts_);
  return out;
}

std::optional<uint64_t> UnwindStarts::before(uint64_t address) const {
  const auto after = std::ranges::upper_bound(starts_, address);
  if (after == starts_.begin())
    return std::nullopt;
  return *std::prev(after);
}

} // namespace tally::symbolize
