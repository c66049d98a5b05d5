#include "symbolize/producer.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "symbolize/die_scan.h"
#include "symbolize/tables.h"
#include "symbolize/unit_addresses.h"

namespace tally::symbolize {

namespace {

struct Unit {
  Dwarf_Die die;
  const UnitAddresses &addresses;
  const ElfFile &file;
};

// Calls use(unit) for the unit that contains the address, and returns its result, or `otherwise` if
// there is none.
template <class Use, class T>
T with_unit_at(const ElfFile &file, uint64_t address, Use use, T otherwise) {
  EndedSections ended;
  const DwarfHandle dwarf = file.open_dwarf();
  if (!dwarf)
    return otherwise;
  search_alternate(dwarf.get(), file.path(), ended);
  const AddressSections sections = AddressSections::of(file);
  ScanBudget budget;
  Dwarf_CU *unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    const UnitAddresses addresses(die, sections);
    bool contains = false;
    addresses.visit_code(die, budget.ranges, [&](uint64_t low, uint64_t high) {
      contains |= low <= address && address < high;
    });
    if (contains)
      return use(Unit{die, addresses, file});
  }
  return otherwise;
}

std::string producer_of(Unit unit) {
  Dwarf_Attribute attribute;
  const char *const text =
      dwarf_formstring(dwarf_attr_integrate(&unit.die, DW_AT_producer, &attribute));
  return text ? text : "";
}

// Returns whether an expression is the register of frame pointers, of x86-64 or of AArch64.
bool is_frame_pointer(Dwarf_Attribute *attribute) {
  Dwarf_Op *operations = nullptr;
  size_t count = 0;
  if (!attribute || dwarf_getlocation(attribute, &operations, &count) != 0 || count != 1)
    return false;
  return operations[0].atom == DW_OP_reg6 || operations[0].atom == DW_OP_reg29;
}

bool is_optimized(const Unit &unit, uint64_t address) {
  ScanBudget budget;
  const UnitScan scan = scan_unit(unit.die, unit.file.code_ranges(), unit.addresses, budget);
  for (const ScanRange &range : scan.ranges) {
    if (address < range.low || address >= range.high)
      continue;
    uint64_t node = range.priority;
    while (scan.nodes[node].parent != no_index)
      node = scan.nodes[node].parent;
    Dwarf_Die function = die_at(scan.nodes[node].function);
    Dwarf_Attribute attribute;
    return !is_frame_pointer(dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute)) ||
           dwarf_hasattr_integrate(&function, DW_AT_call_all_calls) != 0 ||
           dwarf_hasattr_integrate(&function, DW_AT_GNU_all_call_sites) != 0;
  }
  return true;
}

} // namespace

std::string producer_at(const ModuleFiles &files, uint64_t address) {
  if (const auto main = files.open_main(); main && main->has_dwarf())
    return with_unit_at(*main, address, producer_of, std::string());
  if (const auto debug = files.open_debug())
    return with_unit_at(*debug, address, producer_of, std::string());
  return {};
}

bool may_be_optimized(const ModuleFiles &files, uint64_t address) {
  const auto look = [address](const Unit &unit) { return is_optimized(unit, address); };
  if (const auto main = files.open_main(); main && main->has_dwarf())
    return with_unit_at(*main, address, look, true);
  const auto debug = files.open_debug();
  return !debug || with_unit_at(*debug, address, look, true);
}

} // namespace tally::symbolize
