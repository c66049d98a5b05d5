#include "live/counter_places.h"

#include <string_view>

namespace tally::live {

CounterPlaces find_places(const symbolize::ElfFile &file) {
  CounterPlaces places;
  places.words = {file.is_big_endian(), file.pointer_size()};
  places.x86_64 = file.is_for_x86_64();
  for (const symbolize::Segment &segment : file.loaded_segments())
    places.segments.push_back({segment.address, segment.address + segment.size});
  for (const symbolize::Section &section : file.loaded_sections()) {
    const AddressRange range{section.address, section.address + section.size};
    if (section.name == ".gcov_info")
      places.info_lists.push_back(range);
    else if (section.name == "__llvm_prf_cnts")
      places.source_based = true;
    else if (section.initialised_data &&
             (section.name == ".data" || section.name.starts_with(".data.")))
      places.data.push_back(range);
  }
  file.visit_data_symbols([&](std::string_view name, uint64_t address) {
    if (name == "__gcov_root")
      places.roots.push_back(address);
    else if (name.starts_with("__gcov_."))
      places.functions.push_back(address);
  });
  return places;
}

} // namespace tally::live
