// The layout is described in FORMAT.md.
#include "live/raw_profile.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "formats/llvm/profile_version.h"
#include "formats/llvm/source_profile.h"

namespace tally::live {

namespace {

constexpr uint64_t most_dumped = uint64_t{1} << 28; // bytes of a section

class RawWriter {
public:
  RawWriter(const LoadedModule &module, Memory &memory) : module_(module), memory_(memory) {}

  Result<std::string> run() {
    const CounterPlaces &places = module_.places;
    if (!places.is_source_based())
      return refused(ErrorCode::not_found, "was not compiled with -fprofile-instr-generate");
    if (places.words.pointer_size != 8 || places.words.big_endian)
      return refused(ErrorCode::unsupported,
                     "source-based counters are read from 64-bit little-endian programs only");
    if (!places.source.version)
      return refused(ErrorCode::unsupported,
                     "the version of its counters is not known, because it is stripped");
    TALLY_TRY(word, bytes(*places.source.version, 8));
    uint64_t version = 0; // of the same byte order as this machine
    std::memcpy(&version, word.data(), std::min(word.size(), sizeof version));
    const uint64_t number = version & llvm::version_bits;
    constexpr uint64_t newest = 10;
    if (number < llvm::first_relative_raw || number > newest)
      return refused(ErrorCode::unsupported,
                     fmt::format("its counters have version {}; known are versions {} to {}, of "
                                 "Clang 14 to 22",
                                 number, llvm::first_relative_raw, newest));
    if (version & llvm::byte_counters)
      return refused(ErrorCode::unsupported, "its counters have one byte each, which is not known");
    const auto layout = llvm::record_layout(version, sizeof(uint64_t), false);
    if (!layout)
      return refused(ErrorCode::unsupported, "is a program for the optimizer");
    const uint64_t data_size = places.source.data.size(),
                   counter_bytes = places.source.counters.size(),
                   names_size = places.source.names.size();
    if (data_size % layout->size() != 0 || counter_bytes % 8 != 0 || data_size > most_dumped ||
        counter_bytes > most_dumped || names_size > most_dumped ||
        places.source.bitmaps.size() > most_dumped)
      return refused(ErrorCode::unsupported, "its sections of counters have unknown sizes");
    TALLY_TRY(data, bytes(places.source.data.low, data_size));
    TALLY_TRY(counters, bytes(places.source.counters.low, counter_bytes));
    TALLY_TRY(bitmaps, bytes(places.source.bitmaps.low, places.source.bitmaps.size()));
    TALLY_TRY(names, bytes(places.source.names.low, names_size));
    put(0xff6c70726f667281); // "\xfflprofr\x81"
    put(version);
    put(0); // bytes of binary IDs
    put(data_size / layout->size());
    put(0); // bytes between the records and the counters
    put(counter_bytes / 8);
    put(0); // bytes between the counters and what follows
    if (number >= llvm::first_raw_with_bitmaps) {
      put(bitmaps.size());
      put((8 - bitmaps.size() % 8) % 8); // bytes between the bitmaps and the names
    }
    put(names_size);
    put(places.source.counters.low - places.source.data.low);
    if (number >= llvm::first_raw_with_bitmaps)
      put(places.source.bitmaps.low - places.source.data.low);
    put(places.source.names.low + module_.bias);
    if (number >= llvm::first_raw_with_tables) {
      put(0); // virtual tables
      put(0); // bytes of their names
    }
    put(layout->value_kinds - 1); // the last kind of values
    out_ += data;
    out_ += counters;
    if (number >= llvm::first_raw_with_bitmaps)
      out_ += bitmaps + std::string((8 - bitmaps.size() % 8) % 8, '\0');
    out_ += names;
    out_.resize((out_.size() + 7) / 8 * 8);
    return std::move(out_);
  }

private:
  tl::unexpected<Error> refused(ErrorCode code, std::string why) const {
    return fail(code, std::move(why), module_.key.path);
  }
  Result<std::string> bytes(uint64_t link_address, uint64_t size) {
    if (std::ranges::none_of(module_.places.segments, [&](const AddressRange &segment) {
          return segment.contains(link_address, size) || size == 0;
        }))
      return refused(ErrorCode::io, "its sections of counters are not in its memory");
    std::string out;
    if (!read_as_it_grows(memory_, link_address + module_.bias, size, out))
      return refused(ErrorCode::io, "its counters cannot be read");
    return out;
  }
  void put(uint64_t word) {
    for (int shift = 0; shift < 64; shift += 8)
      out_ += static_cast<char>(word >> shift);
  }

  const LoadedModule &module_;
  Memory &memory_;
  std::string out_;
};

} // namespace

Result<std::string> raw_profile(const LoadedModule &module, Memory &memory) {
  return RawWriter(module, memory).run();
}

} // namespace tally::live
