#include "stacks/address_table.h"

#include "support/hash.h"

namespace tally {

std::span<const uint32_t> AddressTable::numbers_of(std::span<const uint64_t> pcs) {
  return previous_.values_of(
      pcs, space_->generation(),
      [this](uint64_t pc, std::span<const uint32_t>) { return number_of(pc); });
}

uint32_t AddressTable::number_of(uint64_t pc) {
  const uint32_t range = space_->find(pc);
  const uint64_t offset = range < no_range ? pc - space_->ranges()[range].start : 0;
  uint64_t wanted = uint64_t{range} << offset_bits | offset;
  if (range >= no_range || offset > most_offset) {
    const auto [id, added] = by_address_.find_or_add(
        mix(pc), static_cast<uint32_t>(elsewhere_.size()),
        [&](uint32_t i) { return elsewhere_[i] == pc; },
        [&](uint32_t i) { return mix(elsewhere_[i]); });
    if (added)
      elsewhere_.push_back(pc);
    wanted = uint64_t{no_range} << offset_bits | id;
  }
  const auto [id, added] = by_entry_.find_or_add(
      mix(wanted), size(), [&](uint32_t i) { return entries_[i] == wanted; },
      [&](uint32_t i) { return mix(entries_[i]); });
  if (added)
    entries_.push_back(wanted);
  return id;
}

AddressTable::Entry AddressTable::operator[](uint32_t number) const {
  const auto range = static_cast<uint32_t>(entries_[number] >> offset_bits);
  const uint64_t offset = entries_[number] & most_offset;
  if (range == no_range)
    return {AddressSpace::nowhere, elsewhere_[offset]};
  return {range, space_->ranges()[range].start + offset};
}

size_t AddressTable::memory_bytes() const {
  return entries_.memory_bytes() + by_entry_.memory_bytes() +
         elsewhere_.capacity() * sizeof(uint64_t) + by_address_.memory_bytes();
}

} // namespace tally
