// The memory of a program, which is stopped while it is read: that of a process, of a core file, or
// what a debugger shows of a remote target.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <sys/types.h>

#include "support/result.h"

namespace tally::live {

// How the program's processor stores words.
struct WordLayout {
  bool big_endian = false;
  uint32_t pointer_size = 8; // in bytes: 4 or 8
  friend bool operator==(const WordLayout &, const WordLayout &) = default;
};

class Memory {
public:
  virtual ~Memory() = default;
  // Copies the bytes that begin at `address`. Returns false if some byte cannot be read; then the
  // content of `to` is unspecified.
  virtual bool read(uint64_t address, std::span<std::byte> to) = 0;
};

// Reads bytes in steps, so that no more memory is taken than holds what could be read: the size may
// be one that a hostile file claims.
template <class Bytes>
bool read_as_it_grows(Memory &memory, uint64_t address, uint64_t size, Bytes &to) {
  constexpr uint64_t step = 1 << 24;
  to.clear();
  for (uint64_t done = 0; done < size; done += step) {
    const uint64_t bytes = std::min(step, size - done);
    to.resize(done + bytes);
    if (!memory.read(address + done, std::as_writable_bytes(std::span(to)).last(bytes)))
      return false;
  }
  return true;
}

// Returns the memory of a process of this machine. Fails with not_found if there is no such
// process, and with permission if its memory may not be read: the caller must be its tracer, or
// another process that ptrace(2) would permit to attach. `thread` is one of its threads that has
// not ended; 0 means the first one, whose ID is `pid`.
Result<std::unique_ptr<Memory>> process_memory(pid_t pid, pid_t thread = 0);

} // namespace tally::live
