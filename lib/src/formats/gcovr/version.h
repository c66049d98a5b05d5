// The versions of the layout that gcovr releases write.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::gcovr {

// The versions in order. The versions after a version have its features, too, except those whose
// removal is noted below.
enum class Version : uint8_t {
  v0_1,  // gcovr 4.2: lines, branches; the version is a number
  v0_2,  // 5.0: the version is text
  v0_3,  // 5.1: functions, gcovr/excluded
  v0_5,  // 6.0: no gcovr/noncode; gcovr/excluded only if it is true
  v0_6,  // 7.0: blockno of branches, blocks_percent and returned_count of functions
  v0_10, // 8.0: conditions; mangled names, pos; no returned_count
  v0_11, // 8.3: source_block_id in place of blockno
  v0_14, // 8.4: conditionno and branchno; a line may occur once for each function
};

struct VersionName {
  Version version;
  std::string_view name;
};
inline constexpr VersionName versions[] = {
    {Version::v0_1, "0.1"},   {Version::v0_2, "0.2"},   {Version::v0_3, "0.3"},
    {Version::v0_5, "0.5"},   {Version::v0_6, "0.6"},   {Version::v0_10, "0.10"},
    {Version::v0_11, "0.11"}, {Version::v0_14, "0.14"},
};
inline constexpr Version newest = Version::v0_14;

inline std::optional<Version> version_of(std::string_view name) {
  for (const VersionName &known : versions)
    if (known.name == name)
      return known.version;
  return {};
}

} // namespace tally::gcovr
