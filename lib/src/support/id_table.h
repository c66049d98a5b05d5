// A hash table of ids whose rows are stored elsewhere. A slot takes four bytes, and the rows
// themselves are the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tally {

// `Quarters` is the maximum load, in quarters of the slots, before the table grows.
template <size_t Quarters> class IdTableOf {
public:
  // If there is an id whose row `equal(id)` accepts, returns that id and false. Otherwise returns
  // `next_id` and true, and the caller must add that row. `hash_of(id)` must return a row's hash
  // again when the table grows.
  template <class Equal, class HashOf>
  std::pair<uint32_t, bool> find_or_add(uint64_t hash, uint32_t next_id, Equal equal,
                                        HashOf hash_of) {
    if ((used_ + 1) * 4 > slots_.size() * Quarters)
      grow(hash_of);
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot] == 0) {
        slots_[slot] = next_id + 1;
        ++used_;
        return {next_id, true};
      }
      if (equal(slots_[slot] - 1))
        return {slots_[slot] - 1, false};
    }
  }

  size_t memory_bytes() const { return slots_.capacity() * sizeof(uint32_t); }

private:
  template <class HashOf> void grow(HashOf hash_of) {
    std::vector<uint32_t> old(slots_.empty() ? 64 : slots_.size() * 2, 0);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (uint32_t stored : old) {
      if (stored == 0)
        continue;
      size_t slot = hash_of(stored - 1) & mask;
      while (slots_[slot] != 0)
        slot = (slot + 1) & mask;
      slots_[slot] = stored;
    }
  }

  std::vector<uint32_t> slots_; // id + 1; 0 marks a free slot
  size_t used_ = 0;
};

using IdTable = IdTableOf<2>;
using DenseIdTable = IdTableOf<3>; // for tables where memory matters more than time

} // namespace tally
