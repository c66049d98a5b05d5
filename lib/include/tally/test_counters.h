// The counters that one run of a program has left (GCOV_PREFIX), in one small file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/export.h>
#include <tally/result.h>

namespace tally {

// All counters (.gcda) below `folder`, each deflated, by its path below `folder` as an absolute
// one; as one file's bytes. Empty counters and all else are left out. `before`: such bytes, to
// which they are added.
TALLY_API Result<std::string> pack_counters(const std::string &folder, Diagnostics &diagnostics,
                                            std::string before = {});

// Such bytes: "tally counters 1\n", then for each file three little-endian uint32, the sizes of its
// path, of its deflated bytes and of its bytes, and the path and the deflated bytes themselves.
class TALLY_API PackedCounters {
public:
  // What is not whole is invalid_input, with its offset. `source` names the bytes.
  static Result<PackedCounters> read(std::string bytes, std::string source);

  struct File {
    std::string_view path;
    uint32_t size = 0;
    std::string_view packed;
  };
  const std::vector<File> &files() const { return files_; }
  Result<std::string> unpack(const File &file) const;

private:
  std::string source_;
  std::shared_ptr<const std::string> bytes_;
  std::vector<File> files_; // views into bytes_
};

} // namespace tally
