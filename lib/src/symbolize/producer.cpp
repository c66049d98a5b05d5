#include "symbolize/producer.h"

#include <memory>

#include <dwarf.h>
#include <elfutils/libdw.h>

namespace tally::symbolize {

namespace {

std::string producer_in(const ElfFile &file, uint64_t address) {
  const std::unique_ptr<Dwarf, int (*)(Dwarf *)> dwarf(
      dwarf_begin_elf(file.elf(), DWARF_C_READ, nullptr), dwarf_end);
  if (!dwarf)
    return {};
  Dwarf_CU *unit = nullptr;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf.get(), unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    if (dwarf_haspc(&die, address) != 1)
      continue;
    Dwarf_Attribute attribute;
    const char *const text =
        dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_producer, &attribute));
    return text ? text : "";
  }
  return {};
}

} // namespace

std::string producer_at(const ModuleFiles &files, uint64_t address) {
  if (const auto main = files.open_main(); main && main->has_dwarf())
    return producer_in(*main, address);
  if (const auto debug = files.open_debug())
    return producer_in(*debug, address);
  return {};
}

} // namespace tally::symbolize
