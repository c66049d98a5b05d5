// The index is a hash table with open addressing, then the table of its units (DWARF 5, section
// 7.3.5). Nothing is copied from it: a look-up reads only the slots and the row that it needs.
#include "symbolize/dwp_index.h"

#include <fmt/format.h>

#include "symbolize/dwarf_cursor.h"

namespace tally::symbolize {

namespace {

constexpr uint64_t index_header_size = 16;

tl::unexpected<Error> damaged_index(const SectionPlace &place, uint64_t offset,
                                    const std::string &message) {
  return fail(ErrorCode::invalid_input, fmt::format("{}: {}", place.name, message), {},
              Position::at_offset(place.offset + offset));
}

// Returns the part that a section's number stands for, or 0 if it is not needed.
size_t part_of(uint32_t number, bool is_version_5) {
  switch (number) {
  case 1: // INFO
  case 3: // ABBREV
  case 6: // STR_OFFSETS
    return number;
  case 8: // RNGLISTS; MACRO in version 2
    return is_version_5 ? number : 0;
  default:
    return 0;
  }
}

} // namespace

uint64_t DwpIndex::number(uint64_t offset, unsigned bytes) const {
  DwarfCursor cursor = dwarf_cursor(section_, swap_);
  cursor.skip(offset);
  return cursor.sized(bytes);
}

Result<DwpIndex> DwpIndex::read(std::string_view section, bool swap, SectionPlace place) {
  DwpIndex index;
  index.section_ = section;
  index.place_ = place;
  index.swap_ = swap;
  if (section.empty())
    return index;
  if (section.size() < index_header_size)
    return damaged_index(
        place, 0,
        fmt::format("the header needs {} bytes, there are {}", index_header_size, section.size()));
  // The version has 4 bytes in version 2, and 2 bytes and a padding in version 5.
  const bool is_version_5 = index.number(0, 2) == 5;
  if (!is_version_5 && index.number(0, 4) != 2)
    return damaged_index(place, 0, fmt::format("unknown version {}", index.number(0, 4)));
  index.columns_ = static_cast<uint32_t>(index.number(4, 4));
  index.units_ = static_cast<uint32_t>(index.number(8, 4));
  index.slots_ = static_cast<uint32_t>(index.number(12, 4));
  if (index.slots_ == 0)
    return index;
  // No term can overflow: all factors have 32 bits, and the columns are few.
  constexpr uint32_t most_columns = 64;
  if (index.columns_ > most_columns)
    return damaged_index(place, 4,
                         fmt::format("{} sections, of at most {}", index.columns_, most_columns));
  if ((index.slots_ & (index.slots_ - 1)) != 0)
    return damaged_index(place, 12,
                         fmt::format("the number of slots, {}, is not a power of 2", index.slots_));
  const uint64_t needed = index_header_size + uint64_t{12} * index.slots_ +
                          uint64_t{4} * index.columns_ * (1 + uint64_t{2} * index.units_);
  if (needed > section.size())
    return damaged_index(
        place, 4, fmt::format("the tables need {} bytes, there are {}", needed, section.size()));
  const uint64_t header = index_header_size + uint64_t{12} * index.slots_;
  for (uint32_t column = 0; column < index.columns_; ++column) {
    const auto id = static_cast<uint32_t>(index.number(header + uint64_t{4} * column, 4));
    if (const size_t part = part_of(id, is_version_5); part != 0)
      index.column_of_[part] = column + 1;
  }
  return index;
}

Result<std::optional<DwpIndex::Row>> DwpIndex::find(uint64_t id) const {
  if (slots_ == 0)
    return std::nullopt;
  const uint64_t mask = slots_ - 1;
  const uint64_t numbers = index_header_size + uint64_t{8} * slots_;
  uint64_t slot = id & mask;
  // The step is odd and the number of slots a power of 2, so that the steps reach all slots.
  const uint64_t step = ((id >> 32) & mask) | 1;
  for (uint32_t tried = 0; tried < slots_; ++tried, slot = (slot + step) & mask) {
    const uint64_t row = number(numbers + 4 * slot, 4);
    if (row == 0)
      return std::nullopt;
    if (number(index_header_size + 8 * slot, 8) != id)
      continue;
    if (row > units_)
      return damaged_index(place_, numbers + 4 * slot, fmt::format("row {} of {}", row, units_));
    const uint64_t table = index_header_size + uint64_t{12} * slots_ + uint64_t{4} * columns_;
    const uint64_t offsets = table + uint64_t{4} * columns_ * (row - 1);
    const uint64_t sizes = offsets + uint64_t{4} * columns_ * units_;
    Row parts;
    for (size_t part = 0; part < part_count; ++part) {
      if (column_of_[part] == 0)
        continue;
      const uint64_t column = uint64_t{4} * (column_of_[part] - 1);
      parts[part] = {number(offsets + column, 4), number(sizes + column, 4)};
    }
    return parts;
  }
  return std::nullopt;
}

} // namespace tally::symbolize
