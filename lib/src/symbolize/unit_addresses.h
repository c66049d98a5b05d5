// Reads the addresses and range lists of a unit, with a check of each offset. libdw (0.188) follows
// the offsets of a damaged table of range lists anywhere in memory, and reads those of a split unit
// only if it has found the split unit itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <elfutils/libdw.h>

#include "symbolize/dwarf_cursor.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize {

// The sections of a program that the units refer to for addresses, also its split units.
struct AddressSections {
  std::string_view info;      // .debug_info
  std::string_view addresses; // .debug_addr
  std::string_view ranges;    // .debug_ranges, for DWARF 4
  std::string_view rnglists;  // .debug_rnglists, for DWARF 5
  bool swap = false;

  // The file must have been opened for libdw, which decompresses the sections.
  static AddressSections of(const ElfFile &file);
};

class UnitAddresses {
public:
  // Those of a unit of the program itself.
  UnitAddresses(Dwarf_Die unit, const AddressSections &sections);
  // Those of a split unit. `rnglists` is its .debug_rnglists.dwo; if it is empty, the lists are
  // those of the skeleton's file.
  static UnitAddresses of_split(Dwarf_Die skeleton, const AddressSections &sections,
                                std::string_view rnglists);

  // Returns the address with a number (DWARF 5, section 7.27).
  std::optional<uint64_t> address(uint64_t index) const;

  // Calls visit() for each range of a list. `value` is that of DW_AT_ranges: a number in the table
  // of lists if the form is DW_FORM_rnglistx, otherwise an offset. The list and each of its ranges
  // take one from `budget`, and the list ends when there is none left.
  using Visit = std::function<void(uint64_t low, uint64_t high)>;
  void visit_ranges(uint64_t value, bool is_number, uint32_t &budget, const Visit &visit) const;

  // Calls visit() for each range of code of a DIE in .debug_info.
  void visit_code(Dwarf_Die die, uint32_t &budget, const Visit &visit) const;

  // Returns the number of bytes from a place in .debug_info to its end; 0 if it is not there.
  size_t left_in_info(const void *at) const {
    const auto offset = reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(info_.data());
    return offset < info_.size() ? info_.size() - offset : 0;
  }

private:
  // Returns the size of the header that precedes a table of lists (DWARF 5, section 7.28).
  unsigned header_size() const { return offset_size_ == 8 ? 20 : 12; }
  DwarfCursor cursor_at(std::string_view section, uint64_t offset) const;
  void visit_ranges_4(uint64_t offset, uint32_t &budget, const Visit &visit) const;
  void visit_ranges_5(uint64_t offset, uint32_t &budget, const Visit &visit) const;

  std::string_view info_;
  std::string_view addresses_; // from DW_AT_addr_base on
  std::string_view lists_;
  uint64_t lists_base_ = 0;
  uint64_t low_pc_ = 0;
  uint8_t address_size_ = 8;
  uint8_t offset_size_ = 4;
  uint16_t version_ = 5;
  bool swap_ = false;
};

} // namespace tally::symbolize
