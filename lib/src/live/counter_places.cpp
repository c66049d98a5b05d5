#include "live/counter_places.h"

#include <charconv>
#include <string_view>

namespace tally::live {

namespace {

// Returns the number of the function that a symbol of Clang is the counters of: the first is
// __llvm_gcov_ctr, the next __llvm_gcov_ctr.1.
std::optional<uint32_t> number_of_clang(std::string_view name) {
  constexpr std::string_view stem = "__llvm_gcov_ctr";
  if (!name.starts_with(stem))
    return std::nullopt;
  name.remove_prefix(stem.size());
  uint32_t number = 0;
  if (name.empty())
    return number;
  const char *const end = name.data() + name.size();
  if (name[0] != '.' || std::from_chars(name.data() + 1, end, number).ptr != end)
    return std::nullopt;
  return number;
}

// Returns the texts of a section that end like the path of a file of counters. They may begin with
// bytes that precede the path.
std::vector<std::string> data_paths(std::string_view section) {
  constexpr std::string_view ending = ".gcda";
  constexpr size_t most_path = 4096;
  std::vector<std::string> out;
  for (size_t at = 0; (at = section.find(std::string_view(".gcda\0", 6), at)) != section.npos;) {
    const size_t end = at + ending.size();
    size_t begin = at;
    while (begin > 0 && static_cast<unsigned char>(section[begin - 1]) >= ' ' &&
           end - begin < most_path)
      --begin;
    out.emplace_back(section.substr(begin, end - begin));
    at = end;
  }
  return out;
}

} // namespace

CounterPlaces find_places(const symbolize::ElfFile &file) {
  CounterPlaces places;
  places.words = {file.is_big_endian(), file.pointer_size()};
  places.file_bytes = file.size();
  places.x86_64 = file.processor() == Processor::x86_64;
  for (const symbolize::Segment &segment : file.loaded_segments())
    places.segments.push_back({segment.address, segment.address + segment.size});
  for (const symbolize::Section &section : file.loaded_sections()) {
    const AddressRange range{section.address, section.address + section.size};
    if (section.name == ".gcov_info")
      places.info_lists.push_back(range);
    else if (section.name == "__llvm_prf_cnts")
      places.source.counters = range;
    else if (section.name == "__llvm_prf_data")
      places.source.data = range;
    else if (section.name == "__llvm_prf_bits")
      places.source.bitmaps = range;
    else if (section.name == "__llvm_prf_names")
      places.source.names = range;
    else if (section.initialised_data &&
             (section.name == ".data" || section.name.starts_with(".data.")))
      places.data.push_back(range);
  }
  ClangUnit unit;
  const auto end_unit = [&](std::string_view next) {
    if (!unit.counters.empty())
      places.clang_units.push_back(std::move(unit));
    unit = {std::string(next), {}, {}};
  };
  file.visit_data_symbols([&](const symbolize::DataSymbol &symbol) {
    if (symbol.is_file)
      end_unit(symbol.name);
    else if (symbol.name == "__gcov_root")
      places.roots.push_back(symbol.address);
    else if (symbol.name.starts_with("__gcov_."))
      places.functions.push_back(symbol.address);
    else if (symbol.name == "__llvm_profile_raw_version")
      places.source.version = symbol.address;
    else if (symbol.name == "__llvm_profile_counter_bias")
      places.source.bias = symbol.address;
    else if (symbol.name == "__llvm_internal_gcov_emit_file_info")
      unit.file_info = symbol.address;
    else if (const auto number = number_of_clang(symbol.name))
      unit.counters[*number] = {symbol.address, symbol.address + symbol.size};
  });
  end_unit({});
  if (!places.clang_units.empty())
    places.data_paths = data_paths(file.content_of(".rodata"));
  return places;
}

} // namespace tally::live
