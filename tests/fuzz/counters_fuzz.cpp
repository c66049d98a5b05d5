// Reads arbitrary memory as that of a program with coverage counters. Whatever it holds, reading
// ends, all counters are inside of the module, and the files that are made of them can be read.
#include <cstring>
#include <string_view>

#include "fuzz_target.h"
#include "live/counter_snapshot.h"
#include "require.h"

namespace tally::counters_fuzz {
using namespace tally::live;

namespace {

constexpr uint64_t base = 0x10000; // of the memory

class Bytes final : public Memory {
public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool read(uint64_t address, std::span<std::byte> to) override {
    if (address < base || address - base > bytes_.size() ||
        to.size() > bytes_.size() - (address - base))
      return false;
    std::memcpy(to.data(), bytes_.data() + (address - base), to.size());
    return true;
  }

private:
  std::string_view bytes_;
};

} // namespace

// The first byte says how words are stored, and what the module's file shows of the counters.
FUZZ_TARGET(counters) {
  if (size == 0)
    return 0;
  const unsigned how = data[0];
  const std::string_view image(reinterpret_cast<const char *>(data + 1), size - 1);
  LoadedModule module;
  module.key.path = "program";
  CounterPlaces &places = module.places;
  places.words = {(how & 1) != 0, (how & 2) != 0 ? 4u : 8u};
  places.segments = {{base, base + image.size()}};
  if (how & 4)
    places.roots = {base};
  if (how & 8)
    places.info_lists = {{base, base + std::min<size_t>(image.size(), 64)}};
  if (how & 16)
    places.functions = {base, base + 8, base + 32};
  if (how & 32)
    places.data = places.segments;

  Bytes memory(image);
  CounterLayout layout;
  layout.words = places.words;
  Diagnostics diagnostics;
  add_module(layout, module, 0, memory, diagnostics);
  for (const CounterArray &array : layout.arrays)
    require(array.count == 0 ||
                places.segments[0].contains(array.address, uint64_t{array.count} * 8),
            "counters are inside of the module");
  const auto snapshot = CounterSnapshot::take(layout, memory);
  require(snapshot.has_value(), "all counters can be read");
  CounterFiles files(layout, *snapshot, memory);
  for (const CountedModuleObject &object : layout.objects) {
    require(!object.data_path.empty(), "each object has a path");
    const auto bytes = files.data_of(object).bytes();
    require(bytes.has_value(), "the file can be written");
    Diagnostics ignored; // no compiler may have made such a combination of records
    const auto again = read_gcov_data(*bytes, "made", ignored);
    require(again.has_value(), "the file can be read", again ? "" : again.error().text());
  }
  return 0;
}

} // namespace tally::counters_fuzz
