// Reads from a position of a file.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <unistd.h>

namespace tally {

struct BytesRead {
  size_t size = 0;
  int error = 0; // of errno; 0 if all was read or the file ends there
};

// Reads `size` bytes at `offset`, or fewer where the file ends. pread() may return fewer bytes than
// it was asked for, and a signal may interrupt it.
inline BytesRead read_at(int fd, void *to, size_t size, uint64_t offset) {
  BytesRead read;
  while (read.size < size && offset + read.size <= INT64_MAX) {
    const ssize_t got = ::pread64(fd, static_cast<char *>(to) + read.size, size - read.size,
                                  static_cast<off64_t>(offset + read.size));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      read.error = got < 0 ? errno : 0;
      break;
    }
    read.size += static_cast<size_t>(got);
  }
  return read;
}

} // namespace tally
