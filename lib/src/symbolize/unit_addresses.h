// Reads the addresses and range lists of a split unit. libdw reads them only if it has found the
// split unit itself, in a .dwo file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include <elfutils/libdw.h>

#include "symbolize/dwarf_cursor.h"
#include "symbolize/elf_file.h"

namespace tally::symbolize {

// The sections of the program that its split units refer to.
struct SplitSections {
  std::string_view addresses; // .debug_addr
  std::string_view ranges;    // .debug_ranges, for DWARF 4
  std::string_view rnglists;  // .debug_rnglists, for DWARF 5
  bool swap = false;

  static SplitSections of(const ElfFile &file);
};

class UnitAddresses {
public:
  // `rnglists` is .debug_rnglists.dwo of the split unit; if it is empty, the lists are those of the
  // skeleton's file.
  UnitAddresses(Dwarf_Die skeleton, const SplitSections &sections, std::string_view rnglists);

  // Returns the address with a number (DWARF 5, section 7.27).
  std::optional<uint64_t> address(uint64_t index) const;

  // Calls visit() for each range of a list. `value` is that of DW_AT_ranges: a number in the table
  // of lists if the form is DW_FORM_rnglistx, otherwise an offset. Each range takes one from
  // `budget`, and the list ends when there is none left.
  using Visit = std::function<void(uint64_t low, uint64_t high)>;
  void visit_ranges(uint64_t value, bool is_number, uint32_t &budget, const Visit &visit) const;

private:
  DwarfCursor cursor_at(std::string_view section, uint64_t offset) const;
  void visit_ranges_4(uint64_t offset, uint32_t &budget, const Visit &visit) const;
  void visit_ranges_5(uint64_t offset, uint32_t &budget, const Visit &visit) const;

  std::string_view addresses_; // from the skeleton's DW_AT_addr_base on
  std::string_view lists_;
  uint64_t lists_base_ = 0;
  uint64_t low_pc_ = 0;
  uint8_t address_size_ = 8;
  uint8_t offset_size_ = 4;
  uint16_t version_ = 5;
  bool swap_ = false;
};

} // namespace tally::symbolize
