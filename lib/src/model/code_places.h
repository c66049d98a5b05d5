// Numbers for addresses, each with the range of an AddressSpace that held it at the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tally/chunks.h>

#include "model/address_space.h"
#include "model/id_table.h"
#include "model/shared_root.h"

namespace tally {

class CodePlaces {
public:
  explicit CodePlaces(const AddressSpace &space) : space_(&space) {} // which outlives it
  void clear() { *this = CodePlaces(*space_); }

  // Of a chain that is leaf first, the numbers outermost first; valid until the next call.
  std::span<const uint32_t> numbers_of(std::span<const uint64_t> pcs);

  struct Place {
    uint32_t range; // of the space; AddressSpace::nowhere: of none
    uint64_t pc;
  };
  Place operator[](uint32_t number) const;
  uint32_t size() const { return static_cast<uint32_t>(places_.size()); }
  size_t memory_bytes() const;

private:
  uint32_t number_of(uint64_t pc);

  const AddressSpace *space_;
  // The range's number above, and below the place in it, or in elsewhere_.
  static constexpr unsigned offset_bits = 40;
  static constexpr uint64_t most_offset = (uint64_t{1} << offset_bits) - 1;
  static constexpr uint32_t no_range = (1 << (64 - offset_bits)) - 1;
  Chunks<uint64_t, 10> places_;
  DenseIdTable by_place_;
  std::vector<uint64_t> elsewhere_; // addresses: marks, and what is in no range
  DenseIdTable by_address_;

  SharedRoot<uint32_t> previous_;
};

} // namespace tally
