// What a stack shares with the one before it: most begin alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tally {

// How many frames are the same from the outermost on. `before` begins there, `pcs` with the leaf.
inline size_t common_root(std::span<const uint64_t> before, std::span<const uint64_t> pcs) {
  size_t same = 0;
  while (same < pcs.size() && same < before.size() && before[same] == pcs[pcs.size() - 1 - same])
    ++same;
  return same;
}

} // namespace tally
