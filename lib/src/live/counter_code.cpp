#include "live/counter_code.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "support/sort.h"

namespace tally::live {

namespace {
// GCC loads a counter, adds to it and stores it, or adds to it at once. The distance of the store
// from the load grows if the compiler moves other instructions between them.
constexpr uint64_t bytes_before = 40, bytes_after = 40;
} // namespace

AddressRange code_near(uint64_t pc, const AddressRange &function) {
  return {pc - std::min(bytes_before, pc - function.low),
          pc + std::min(bytes_after, function.high - pc)};
}

std::optional<std::vector<uint64_t>> operands_of(uint64_t pc, const AddressRange &near,
                                                 Memory &memory) {
  std::array<std::byte, bytes_before + bytes_after> code{};
  uint64_t begin = near.low;
  std::span<std::byte> bytes(code.data(), near.high - begin);
  if (!memory.read(begin, bytes)) { // the code may begin or end there
    begin = pc;
    bytes = bytes.first(std::min<uint64_t>(near.high - pc, 16));
    if (!memory.read(begin, bytes))
      return std::nullopt;
  }
  std::vector<uint64_t> out;
  add_operands(begin, bytes, out);
  sort_stably(out);
  return out;
}

void add_operands(uint64_t begin, std::span<const std::byte> code, std::vector<uint64_t> &out) {
  for (size_t at = 0; at + 4 <= code.size(); ++at) {
    int32_t distance = 0;
    std::memcpy(&distance, code.data() + at, sizeof distance);
    for (const uint64_t immediate : {uint64_t{0}, uint64_t{1}, uint64_t{4}})
      out.push_back(begin + at + 4 + immediate + static_cast<uint64_t>(int64_t{distance}));
    // Programs that are not relocated address variables absolutely, by 32 or 64 bits.
    out.push_back(static_cast<uint64_t>(int64_t{distance}));
    if (uint64_t whole = 0; at + sizeof whole <= code.size()) {
      std::memcpy(&whole, code.data() + at, sizeof whole);
      out.push_back(whole);
    }
  }
}

std::vector<uint32_t> counters_among(std::span<const uint64_t> operands,
                                     const CounterArray &array) {
  std::vector<uint32_t> out;
  for (auto at = std::ranges::lower_bound(operands, array.address); at != operands.end(); ++at) {
    const uint64_t offset = *at - array.address;
    if (offset / 8 >= array.count)
      break;
    if (offset % 8 == 0 && (out.empty() || out.back() != offset / 8))
      out.push_back(static_cast<uint32_t>(offset / 8));
  }
  return out;
}

} // namespace tally::live
