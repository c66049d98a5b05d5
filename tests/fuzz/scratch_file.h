// A file in memory with the bytes of a fuzz target's input, for readers that take a path.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/unique_fd.h"

namespace tally {

class ScratchFile {
public:
  ScratchFile(const uint8_t *data, size_t size) : fd_(::memfd_create("input", MFD_CLOEXEC)) {
    for (size_t done = 0; done < size;) {
      const ssize_t more = ::write(fd_.get(), data + done, size - done);
      if (more <= 0)
        std::abort(); // this is not the reader's fault
      done += static_cast<size_t>(more);
    }
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

private:
  UniqueFd fd_;
};

} // namespace tally
