#include "symbolize/producer.h"

#include <cstdlib>
#include <memory>

#include <dwarf.h>
#include <elfutils/libdw.h>

namespace tally::symbolize {

namespace {

// Calls use(unit) for the unit that contains the address, and returns its result, or `otherwise` if
// there is none.
template <class Use, class T>
T with_unit_at(const ElfFile &file, uint64_t address, Use use, T otherwise) {
  EndedSections ended;
  const DwarfHandle dwarf = file.open_dwarf();
  if (!dwarf)
    return otherwise;
  search_alternate(dwarf.get(), ended);
  Dwarf_CU *unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0)
    if (dwarf_haspc(&die, address) == 1)
      return use(die);
  return otherwise;
}

std::string producer_of(Dwarf_Die unit) {
  Dwarf_Attribute attribute;
  const char *const text =
      dwarf_formstring(dwarf_attr_integrate(&unit, DW_AT_producer, &attribute));
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

bool is_optimized(Dwarf_Die unit, uint64_t address) {
  Dwarf_Die *found = nullptr;
  const int count = dwarf_getscopes(&unit, address, &found);
  const std::unique_ptr<Dwarf_Die, decltype(&std::free)> scopes(found, std::free);
  for (int i = 0; i < count; ++i) {
    Dwarf_Die *const scope = found + i;
    if (dwarf_tag(scope) != DW_TAG_subprogram)
      continue;
    Dwarf_Attribute attribute;
    return !is_frame_pointer(dwarf_attr_integrate(scope, DW_AT_frame_base, &attribute)) ||
           dwarf_hasattr_integrate(scope, DW_AT_call_all_calls) != 0 ||
           dwarf_hasattr_integrate(scope, DW_AT_GNU_all_call_sites) != 0;
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
  const auto look = [address](Dwarf_Die unit) { return is_optimized(unit, address); };
  if (const auto main = files.open_main(); main && main->has_dwarf())
    return with_unit_at(*main, address, look, true);
  const auto debug = files.open_debug();
  return !debug || with_unit_at(*debug, address, look, true);
}

} // namespace tally::symbolize
