// Describes ranges of addresses, and profiles without addresses, for several sources.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/pc_histogram.h"
#include "model/stack_profile.h"

namespace tally {

inline std::string shown(const PcRange &range) {
  return fmt::format("[{:#x}, {:#x})", range.low_pc, range.high_pc);
}

// Returns whether a location of the profile, also of a caller, has an address.
inline bool has_addresses(const StackProfile &stacks) {
  for (uint32_t i = 0; i < stacks.location_count(); ++i)
    if (stacks.location(static_cast<LocationId>(i)).address != 0)
      return true;
  return false;
}

inline constexpr std::string_view only_lines =
    "has no addresses, only lines: no histogram can be made of it (`valgrind --tool=callgrind "
    "--dump-instr=yes` counts by address)";
inline constexpr std::string_view only_names =
    "has no addresses, only names: no histogram can be made of it";

} // namespace tally
