// The memory of an agent as the sampled program has it: mapped a second time, and free to write.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/wire.h"

namespace tally {

class AgentView {
public:
  // Takes what AgentMemory::variable() returns.
  explicit AgentView(const std::string &variable) {
    const int fd = ::open(variable.substr(variable.find('=') + 1).c_str(), O_RDWR | O_CLOEXEC);
    struct stat info {};
    ::fstat(fd, &info);
    bytes_ = static_cast<size_t>(info.st_size);
    map_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
  }
  AgentView(const AgentView &) = delete;
  AgentView &operator=(const AgentView &) = delete;
  ~AgentView() { ::munmap(map_, bytes_); }

  tally_wire_header &header() { return *static_cast<tally_wire_header *>(map_); }
  tally_wire_slot &slot(uint32_t i) {
    return reinterpret_cast<tally_wire_slot *>(static_cast<char *>(map_) +
                                               tally_wire_slots_at())[i];
  }
  std::span<uint64_t> ring(uint32_t i) {
    const auto at = tally_wire_rings_at(header().slots) + uint64_t{i} * header().ring_bytes;
    return {reinterpret_cast<uint64_t *>(static_cast<char *>(map_) + at),
            header().ring_bytes / sizeof(uint64_t)};
  }
  size_t bytes() const { return bytes_; }

private:
  void *map_ = nullptr;
  size_t bytes_ = 0;
};

} // namespace tally
