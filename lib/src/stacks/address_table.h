// Numbers addresses, each together with the range of an AddressSpace that held it at the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tally/chunks.h>

#include "stacks/address_space.h"
#include "stacks/common_root.h"
#include "support/id_table.h"

namespace tally {

class AddressTable {
public:
  explicit AddressTable(const AddressSpace &space) : space_(&space) {} // `space` must outlive it
  void clear() { *this = AddressTable(*space_); }

  // Returns the numbers of a chain's addresses, outermost first. The chain is leaf first. The
  // result is valid until the next call.
  std::span<const uint32_t> numbers_of(std::span<const uint64_t> pcs);

  struct Entry {
    uint32_t range; // number of a range of the space; AddressSpace::nowhere if there is none
    uint64_t pc;
  };
  Entry operator[](uint32_t number) const;
  uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }
  size_t memory_bytes() const;

private:
  uint32_t number_of(uint64_t pc);

  const AddressSpace *space_;
  // An entry of entries_ holds the range's number in the upper 24 bits, and in the lower 40 bits
  // the offset in that range; if the number is no_range, the lower bits are an index into
  // elsewhere_.
  static constexpr unsigned offset_bits = 40;
  static constexpr uint64_t most_offset = (uint64_t{1} << offset_bits) - 1;
  static constexpr uint32_t no_range = (1 << (64 - offset_bits)) - 1;
  Chunks<uint64_t, 10> entries_;
  DenseIdTable by_entry_;
  // Truncation marks, and addresses that are outside of every range or at a large offset in one.
  std::vector<uint64_t> elsewhere_;
  DenseIdTable by_address_;

  CommonRoot<uint32_t> previous_;
};

} // namespace tally
