#include "formats/gperftools/code_map.h"

#include <algorithm>

#include "support/sort.h"

namespace tally::gperftools {

CodeMap::CodeMap(std::string_view maps, Diagnostics &diagnostics, const std::string &source) {
  // In ascending order each range is added at the end, so that the time is not quadratic.
  std::vector<CodeRange> ranges = parse_maps(maps);
  sort_stably(ranges, {}, &CodeRange::start);
  for (CodeRange &range : ranges) {
    // The device is 0 where gperftools does not know it. What identifies a file is its path.
    range.device = range.inode = 0;
    space_.map(range);
  }
  if (ranges.empty())
    diagnostics.add(Severity::warning,
                    "lists no mapped code, so that functions have no names; `go tool pprof -proto "
                    "PROGRAM FILE` names those of PROGRAM",
                    source);
}

std::string_view CodeMap::file_at(uint64_t address) const {
  const uint32_t range = space_.find(address);
  return range == AddressSpace::nowhere ? std::string_view() : space_.ranges()[range].path;
}

} // namespace tally::gperftools
