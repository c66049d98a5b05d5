#include "stacks/stack_memory.h"

#include <algorithm>

namespace tally {

void StackMemory::show(uint64_t low, std::span<const std::byte> dump, bool joins) {
  const uint64_t end = low + dump.size();
  if (!joins || end < this->low() || end > high_) {
    high_ = end;
    used_ = 0;
  }
  const uint64_t needed = high_ - low;
  if (needed > most_bytes) {
    used_ = 0;
    high_ = 0;
    return;
  }
  if (room_.size() < needed) {
    std::vector<std::byte> larger(std::min(most_bytes, std::max<size_t>(needed, 2 * room_.size())));
    std::copy(room_.end() - static_cast<ptrdiff_t>(used_), room_.end(),
              larger.end() - static_cast<ptrdiff_t>(used_));
    room_ = std::move(larger);
  }
  used_ = needed;
  // Unlike std::ranges::copy(), this copies by memmove() also without optimization.
  std::copy(dump.begin(), dump.end(), room_.end() - static_cast<ptrdiff_t>(needed));
}

} // namespace tally
