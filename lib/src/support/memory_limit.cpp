#include "support/memory_limit.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "support/read_at.h"

namespace tally {

thread_local constinit MemoryLimit *MemoryLimit::current_ = nullptr;

MemoryExceeded::MemoryExceeded(uint64_t bytes)
    : text_(fmt::format("needs more than {} MiB of memory to be read; the option --memory-limit of "
                        "`tally` allows more",
                        std::max<uint64_t>(bytes >> 20, 1))) {}

MemoryLimit::MemoryLimit(uint64_t bytes, uint64_t file_bytes)
    : before_(current_), statm_(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)),
      is_usual_(bytes == 0), bytes_(is_usual_ ? usual(file_bytes) : bytes), begin_(used()) {
  current_ = this;
}

MemoryLimit::~MemoryLimit() { current_ = before_; }

uint64_t MemoryLimit::usual(uint64_t file_bytes) {
  constexpr uint64_t least = uint64_t{1} << 30, per_byte = 64;
  return std::max(least, std::min(file_bytes, UINT64_MAX / per_byte) * per_byte);
}

// The sixth number is the pages of data and stacks (proc_pid_statm(5)): unlike the resident size,
// it does not shrink while the kernel reclaims pages.
uint64_t MemoryLimit::used() const {
  std::array<char, 256> text{};
  uint64_t pages = 0;
  if (read_at(statm_.get(), text.data(), text.size() - 1, 0).size == 0 ||
      std::sscanf(text.data(), "%*u %*u %*u %*u %*u %" SCNu64, &pages) != 1)
    return 0;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

bool MemoryLimit::is_exceeded() {
  if (!current_)
    return false;
  const uint64_t now = current_->used();
  return now - std::min(now, current_->begin_) > current_->bytes_;
}

void MemoryLimit::check() {
  if (is_exceeded())
    throw MemoryExceeded(current_->bytes_);
}

void MemoryLimit::check(uint64_t read_bytes) {
  if (current_ && current_->is_usual_)
    current_->bytes_ = std::max(current_->bytes_, usual(read_bytes));
  check();
}

} // namespace tally
