#include "collect/page_fetch.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

#include "support/clock.h"
#include "support/process_memory.h"
#include "support/read_at.h"

namespace tally {

// Returns the end of the private anonymous mapping that contains an address, or 0 if the address is
// in another kind of memory. proc_pid_maps(5) describes the lines.
static uint64_t end_of_own_memory(pid_t pid, uint64_t address) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t low = 0, high = 0, inode = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &low, &high,
                    rights, &inode) == 4 &&
        high > address)
      return low <= address && rights[0] == 'r' && rights[3] == 'p' && inode == 0 ? high : 0;
  }
  return 0;
}

void PageFetch::fetch(pid_t pid, uint64_t address, size_t size) {
  const uint64_t begun = now_ns();
  bool has_read = false;
  if (begun < next_ns_)
    return;
  if (const uint64_t end = end_of_own_memory(pid, address); end != 0) {
    constexpr uint64_t page_bytes = 4096; // the smallest size of a page
    const UniqueFd memory = open_process_memory(pid);
    std::byte ignored{};
    for (uint64_t at = address; at < address + std::min<uint64_t>(size, end - address);
         at += page_bytes)
      has_read |= read_at(memory.get(), &ignored, 1, at).size == 1;
  }
  // A range that cannot be read now can hardly be read soon.
  const uint64_t ended = now_ns(), parts_of_processor = has_read ? 5 : 100;
  next_ns_ = ended + parts_of_processor * (ended - begun);
}

} // namespace tally
