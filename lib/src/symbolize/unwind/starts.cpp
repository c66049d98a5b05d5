#include "symbolize/unwind/starts.h"

#include <algorithm>

#include "symbolize/unwind/frame_entries.h"

namespace tally::symbolize {

UnwindStarts UnwindStarts::read(const ElfFile &file) {
  UnwindStarts out;
  for (const ListedFunction &each : listed_functions(file))
    out.starts_.push_back(each.start);
  if (out.starts_.empty()) { // linkers leave out .eh_frame_hdr in static programs
    if (const auto section = FrameSection::eh_frame_of(file))
      for (const Fde &each : described_functions(*section))
        out.starts_.push_back(each.start);
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
