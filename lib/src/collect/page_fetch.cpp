#include "collect/page_fetch.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <sys/uio.h>

#include "support/clock.h"

namespace tally {

// Returns the end of the private anonymous mapping that contains an address, or 0 if the address is
// in another kind of memory. proc(5) describes smaps and its flags.
static uint64_t end_of_own_memory(pid_t pid, uint64_t address) {
  std::ifstream smaps("/proc/" + std::to_string(pid) + "/smaps");
  uint64_t end = 0;
  for (std::string line; std::getline(smaps, line);) {
    uint64_t low = 0, high = 0, inode = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &low, &high,
                    rights, &inode) == 4) {
      if (low > address)
        return 0;
      end = address < high && rights[0] == 'r' && rights[3] == 'p' && inode == 0 ? high : 0;
    } else if (end != 0 && line.starts_with("VmFlags:")) {
      for (const char *const flag : {" um", " uw", " ui"}) // userfaultfd
        if (line.find(flag) != line.npos)
          return 0;
      return end;
    }
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
    std::vector<iovec> pages;
    for (uint64_t at = address; at < address + std::min<uint64_t>(size, end - address);
         at += page_bytes)
      pages.push_back({reinterpret_cast<void *>(at), 1});
    std::vector<std::byte> bytes(pages.size());
    const iovec here{bytes.data(), bytes.size()};
    has_read = ::process_vm_readv(pid, &here, 1, pages.data(), pages.size(), 0) > 0;
  }
  // A range that cannot be read now can hardly be read soon.
  const uint64_t ended = now_ns(), parts_of_processor = has_read ? 5 : 100;
  next_ns_ = ended + parts_of_processor * (ended - begun);
}

} // namespace tally
