// Packs the counters that one run of a program has written (GCOV_PREFIX) into one small file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/result.h"

namespace tally {

// The end of the name of a raw profile of source-based coverage.
inline constexpr std::string_view raw_profile_suffix = ".profraw";

// Returns the content of a file that holds all counters (.gcda, .profraw) below the directory
// `folder`, each compressed with zlib. The stored path is the part after `folder`, and begins with
// '/'. Empty counters and other files are left out. If `before` is not empty, it is the content of
// such a file, to which the counters are appended.
Result<std::string> pack_counters(const std::string &folder, Diagnostics &diagnostics,
                                  std::string before = {});

// A file of packed counters: "tally counters 1\n", then for each file of counters three
// little-endian uint32 (the sizes of its path, of its compressed bytes and of its bytes), the path,
// and the compressed bytes.
class PackedCounters {
public:
  // Parses the content of such a file. Fails with invalid_input, with the offset of the fault, if
  // it is truncated or damaged. `source` is the name of the file, for errors.
  static Result<PackedCounters> read(std::string bytes, std::string source);

  struct File {
    std::string_view path;
    uint32_t size = 0;       // in bytes, after decompression
    std::string_view packed; // the compressed bytes
  };
  const std::vector<File> &files() const { return files_; }
  // Decompresses one file of counters.
  Result<std::string> unpack(const File &file) const;

private:
  std::string source_;
  std::shared_ptr<const std::string> bytes_;
  std::vector<File> files_; // views into bytes_
};

} // namespace tally
