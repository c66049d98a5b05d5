// Wording that several sources share for ranges of addresses, and for profiles without addresses.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tally/pc_histogram.h>

namespace tally {

inline std::string shown(const PcRange &range) {
  return fmt::format("[{:#x}, {:#x})", range.low_pc, range.high_pc);
}

inline constexpr std::string_view only_lines =
    "has no addresses, only lines: no histogram can be made of it (`valgrind --tool=callgrind "
    "--dump-instr=yes` counts by address)";
inline constexpr std::string_view only_names =
    "has no addresses, only names: no histogram can be made of it";

} // namespace tally
