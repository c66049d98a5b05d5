#include "collect/page_fetch.h"

#include <algorithm>

#include "support/clock.h"
#include "support/process_maps.h"
#include "support/process_memory.h"
#include "support/read_at.h"

namespace tally {

// Finds the private anonymous mapping that contains an address; its path is not valid. Returns an
// empty one if the address is in another kind of memory.
static ProcessMap own_memory(pid_t pid, uint64_t address) {
  ProcessMap own;
  each_process_map(pid, [&](const ProcessMap &each) {
    if (each.limit <= address)
      return true;
    if (each.start <= address && each.is_readable && each.is_private && each.inode == 0)
      own = each;
    return false;
  });
  return own;
}

void PageFetch::fetch(pid_t pid, uint64_t address, size_t size, uint64_t at_ns) {
  const uint64_t begun = now_ns(), begun_cpu = own_cpu_ns();
  bool has_read = false;
  if (const auto read = read_ns_.find({pid, address});
      read != read_ns_.end() && at_ns < read->second)
    return;
  if (paid_ns_ > begun + ahead_ns)
    return;
  if (const ProcessMap own = own_memory(pid, address); own.limit != 0) {
    constexpr uint64_t page_bytes = 4096; // the smallest size of a page
    const UniqueFd memory = open_process_memory(pid);
    std::byte ignored{};
    const uint64_t low = std::max(own.start, address - std::min(address, below_bytes));
    const uint64_t end = address + std::min<uint64_t>(size, own.limit - address);
    for (uint64_t at = low & ~(page_bytes - 1); at < end; at += page_bytes)
      has_read |= read_at(memory.get(), &ignored, 1, at).size == 1;
  }
  // A range that cannot be read now can hardly be read soon.
  const uint64_t ended = now_ns(), parts_of_processor = has_read ? 5 : 100;
  paid_ns_ = std::max(paid_ns_, ended) + parts_of_processor * (own_cpu_ns() - begun_cpu);
  if (read_ns_.size() >= most_ranges)
    read_ns_.clear();
  read_ns_[{pid, address}] = ended;
}

} // namespace tally
