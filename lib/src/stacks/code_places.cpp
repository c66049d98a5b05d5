#include "stacks/code_places.h"

#include "support/hash.h"

namespace tally {

std::span<const uint32_t> CodePlaces::numbers_of(std::span<const uint64_t> pcs) {
  return previous_.values_of(
      pcs, space_->generation(),
      [this](uint64_t pc, std::span<const uint32_t>) { return number_of(pc); });
}

uint32_t CodePlaces::number_of(uint64_t pc) {
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
  const auto [id, added] = by_place_.find_or_add(
      mix(wanted), size(), [&](uint32_t i) { return places_[i] == wanted; },
      [&](uint32_t i) { return mix(places_[i]); });
  if (added)
    places_.push_back(wanted);
  return id;
}

CodePlaces::Place CodePlaces::operator[](uint32_t number) const {
  const auto range = static_cast<uint32_t>(places_[number] >> offset_bits);
  const uint64_t offset = places_[number] & most_offset;
  if (range == no_range)
    return {AddressSpace::nowhere, elsewhere_[offset]};
  return {range, space_->ranges()[range].start + offset};
}

size_t CodePlaces::memory_bytes() const {
  return places_.memory_bytes() + by_place_.memory_bytes() +
         elsewhere_.capacity() * sizeof(uint64_t) + by_address_.memory_bytes();
}

} // namespace tally
