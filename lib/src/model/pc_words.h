// What is said in several places of profiles without addresses.
#pragma once

#include <string_view>

namespace tally {

inline constexpr std::string_view only_lines =
    "has no addresses, only lines: no histogram can be made of it (`valgrind --tool=callgrind "
    "--dump-instr=yes` counts by address)";
inline constexpr std::string_view only_names =
    "has no addresses, only names: no histogram can be made of it";

} // namespace tally
