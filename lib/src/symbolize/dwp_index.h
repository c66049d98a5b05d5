// Finds the parts of a unit in a DWARF package file (.dwp), by the package's index.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "support/result.h"

namespace tally::symbolize {

// The sections that a package's index refers to, by the numbers of DWARF 5, section 7.3.5.3.
// Version 2, GNU's index for DWARF 4, uses some of these numbers for other sections.
enum class PackagePart : uint8_t { info = 1, abbrev = 3, str_offsets = 6, rnglists = 8 };

// The bytes of one unit within a section of the package.
struct Contribution {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Where a section is, for errors.
struct SectionPlace {
  std::string_view name;
  uint64_t offset = 0; // in the file
};

class DwpIndex {
public:
  static constexpr size_t part_count = 9;
  using Row = std::array<Contribution, part_count>; // by PackagePart; a size of 0 means "none"

  // Reads the header of .debug_cu_index or .debug_tu_index. `section` must outlive the index.
  // Errors contain the offset in the file.
  static Result<DwpIndex> read(std::string_view section, bool swap, SectionPlace place);

  // Returns the parts of the unit with this ID or signature; nothing if it is not in the package.
  Result<std::optional<Row>> find(uint64_t id) const;
  size_t unit_count() const { return units_; }

private:
  uint64_t number(uint64_t offset, unsigned bytes) const;

  std::string_view section_;
  SectionPlace place_;
  bool swap_ = false;
  uint32_t columns_ = 0;
  uint32_t units_ = 0;
  uint32_t slots_ = 0;
  std::array<uint32_t, part_count> column_of_{}; // the column of each part + 1; 0 if there is none
};

} // namespace tally::symbolize
