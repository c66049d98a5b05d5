#include "symbolize/unit_addresses.h"

#include <dwarf.h>

#include "symbolize/dwarf_forms.h"

namespace tally::symbolize {

namespace {

std::string_view tail_of(std::string_view section, uint64_t offset) {
  return offset < section.size() ? section.substr(offset) : std::string_view();
}

uint64_t unsigned_attribute(Dwarf_Die die, unsigned name, uint64_t otherwise) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_attr(&die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value
                                                                                        : otherwise;
}

} // namespace

AddressSections AddressSections::of(const ElfFile &file) {
  AddressSections sections;
  sections.info = section_bytes(file, {".debug_info", ".zdebug_info"});
  sections.addresses = section_bytes(file, {".debug_addr", ".zdebug_addr"});
  sections.ranges = section_bytes(file, {".debug_ranges", ".zdebug_ranges"});
  sections.rnglists = section_bytes(file, {".debug_rnglists", ".zdebug_rnglists"});
  sections.swap = swaps_bytes(file.elf());
  return sections;
}

UnitAddresses::UnitAddresses(Dwarf_Die unit, const AddressSections &sections)
    : info_(sections.info), swap_(sections.swap) {
  Dwarf_Half version = 0;
  dwarf_cu_info(unit.cu, &version, nullptr, nullptr, nullptr, nullptr, &address_size_,
                &offset_size_);
  version_ = version;
  addresses_ =
      tail_of(sections.addresses,
              unsigned_attribute(unit, version < 5 ? DW_AT_GNU_addr_base : DW_AT_addr_base, 0));
  if (version < 5) {
    lists_ = sections.ranges;
  } else {
    lists_ = sections.rnglists;
    lists_base_ = unsigned_attribute(unit, DW_AT_rnglists_base, header_size());
  }
  Dwarf_Addr low = 0;
  if (dwarf_lowpc(&unit, &low) == 0 || dwarf_entrypc(&unit, &low) == 0)
    low_pc_ = low;
}

UnitAddresses UnitAddresses::of_split(Dwarf_Die skeleton, const AddressSections &sections,
                                      std::string_view rnglists) {
  UnitAddresses out(skeleton, sections);
  if (out.version_ < 5) {
    out.lists_base_ = unsigned_attribute(skeleton, DW_AT_GNU_ranges_base, 0);
  } else if (!rnglists.empty()) {
    out.lists_ = rnglists;
    out.lists_base_ = out.header_size();
  }
  return out;
}

DwarfCursor UnitAddresses::cursor_at(std::string_view section, uint64_t offset) const {
  DwarfCursor cursor = dwarf_cursor(section, swap_);
  cursor.skip(offset);
  return cursor;
}

std::optional<uint64_t> UnitAddresses::address(uint64_t index) const {
  if (index >= addresses_.size() / address_size_)
    return std::nullopt;
  return cursor_at(addresses_, index * address_size_).sized(address_size_);
}

void UnitAddresses::visit_code(Dwarf_Die die, uint32_t &budget, const Visit &visit) const {
  Dwarf_Addr low = 0;
  Dwarf_Addr high = 0;
  if (dwarf_lowpc(&die, &low) == 0 && dwarf_highpc(&die, &high) == 0) {
    visit(low, high);
    return;
  }
  Dwarf_Attribute attribute;
  if (!dwarf_attr(&die, DW_AT_ranges, &attribute))
    return;
  const size_t left = left_in_info(attribute.valp);
  DwarfCursor cursor = dwarf_cursor(info_.substr(info_.size() - left), swap_);
  uint64_t list = 0;
  if (read_list(cursor, {attribute.code, attribute.form, 0}, offset_size_, list) && cursor.good())
    visit_ranges(list, attribute.form == DW_FORM_rnglistx, budget, visit);
}

void UnitAddresses::visit_ranges(uint64_t value, bool is_number, uint32_t &budget,
                                 const Visit &visit) const {
  if (budget == 0)
    return;
  --budget;
  if (version_ < 5) {
    if (value <= UINT64_MAX - lists_base_)
      visit_ranges_4(lists_base_ + value, budget, visit);
    return;
  }
  if (is_number) {
    if (lists_base_ > lists_.size() || value >= (lists_.size() - lists_base_) / offset_size_)
      return;
    DwarfCursor table = cursor_at(lists_, lists_base_ + value * offset_size_);
    const uint64_t offset = table.sized(offset_size_);
    if (!table.good() || offset > lists_.size())
      return;
    value = lists_base_ + offset;
  }
  visit_ranges_5(value, budget, visit);
}

// Reads a list of .debug_ranges (DWARF 4, section 2.17.3).
void UnitAddresses::visit_ranges_4(uint64_t offset, uint32_t &budget, const Visit &visit) const {
  DwarfCursor cursor = cursor_at(lists_, offset);
  const uint64_t selection = address_size_ == 4 ? UINT32_MAX : UINT64_MAX;
  uint64_t base = low_pc_;
  for (; budget; --budget) {
    const uint64_t low = cursor.sized(address_size_);
    const uint64_t high = cursor.sized(address_size_);
    // Two zeros end the list, and, as in libdw, two marks of a base address.
    if (!cursor.good() || (low == high && (low == 0 || low == selection)))
      return;
    if (low == selection)
      base = high;
    else
      visit(base + low, base + high);
  }
}

// Reads a list of .debug_rnglists (DWARF 5, section 7.25).
void UnitAddresses::visit_ranges_5(uint64_t offset, uint32_t &budget, const Visit &visit) const {
  DwarfCursor cursor = cursor_at(lists_, offset);
  uint64_t base = low_pc_;
  // A number that is not in the table ends the list, as in libdw.
  const auto indexed = [&] {
    const auto found = address(cursor.uleb());
    if (!found)
      cursor.fail();
    return found.value_or(0);
  };
  for (; budget; --budget) {
    const uint8_t kind = cursor.fixed<uint8_t>();
    uint64_t low = 0;
    uint64_t high = 0;
    switch (kind) {
    case DW_RLE_base_addressx:
      base = indexed();
      break;
    case DW_RLE_startx_endx:
      low = indexed();
      high = indexed();
      break;
    case DW_RLE_startx_length:
      low = indexed();
      high = low + cursor.uleb();
      break;
    case DW_RLE_offset_pair:
      low = base + cursor.uleb();
      high = base + cursor.uleb();
      break;
    case DW_RLE_base_address:
      base = cursor.sized(address_size_);
      break;
    case DW_RLE_start_end:
      low = cursor.sized(address_size_);
      high = cursor.sized(address_size_);
      break;
    case DW_RLE_start_length:
      low = cursor.sized(address_size_);
      high = low + cursor.uleb();
      break;
    default: // the end of the list, or damaged
      return;
    }
    if (!cursor.good())
      return;
    if (low < high)
      visit(low, high);
  }
}

} // namespace tally::symbolize
