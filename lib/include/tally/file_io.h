// Files, whole: read with their compression taken off, written without ever losing the old one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally {

struct ReadOptions {
  // A compressed file may unpack to no more than this, and what has no size (a pipe, a device) hold
  // no more: a bomb is an error, not a crash.
  uint64_t max_unpacked_bytes = uint64_t{8} << 30;
};

// The bytes of a file: mapped where it can be, read otherwise, unpacked where it is gzip or zstd.
class TALLY_API FileBytes {
public:
  FileBytes() = default;
  FileBytes(FileBytes &&other) noexcept { *this = std::move(other); }
  FileBytes &operator=(FileBytes &&other) noexcept;
  FileBytes(const FileBytes &) = delete;
  FileBytes &operator=(const FileBytes &) = delete;
  ~FileBytes();

  std::string_view bytes() const {
    return map_ ? std::string_view(static_cast<const char *>(map_), map_size_) : owned_;
  }

private:
  friend TALLY_API Result<FileBytes> read_file(const std::string &path, ReadOptions options);
  void *map_ = nullptr;
  size_t map_size_ = 0;
  std::string owned_;
};

// "-" is standard input.
TALLY_API Result<FileBytes> read_file(const std::string &path, ReadOptions options = {});

// Beside its target, then renamed, with the mode of the file it replaces; links are followed. "-"
// is standard output; devices and pipes are written to as they are. An existing file survives a
// failure, and nothing is left beside it.
TALLY_API Result<void> write_file(const std::string &path, std::string_view bytes);

} // namespace tally
