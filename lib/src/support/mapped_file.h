// A memory-mapped file. Use it only for files that are replaced and never written in place: reading
// beyond the end of a file that was truncated causes SIGBUS.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <sys/mman.h>

#include "support/found_file.h"

namespace tally {

class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile &operator=(MappedFile &&other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile() {
    if (!bytes_.empty())
      ::munmap(const_cast<char *>(bytes_.data()), bytes_.size());
  }
  // Returns an empty file if `path` cannot be mapped.
  static MappedFile open(const std::string &path) {
    MappedFile out;
    const auto file = open_found(path);
    if (!file || file->status.st_size <= 0)
      return out;
    const auto size = static_cast<size_t>(file->status.st_size);
    void *map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->fd.get(), 0);
    if (map != MAP_FAILED)
      out.bytes_ = {static_cast<const char *>(map), size};
    return out;
  }
  std::string_view bytes() const { return bytes_; }

private:
  std::string_view bytes_;
};

} // namespace tally
