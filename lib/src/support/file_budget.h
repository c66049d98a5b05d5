// Bounds what is taken from one file.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace tally {

// Parts of a hostile file overlap: thousands of symbols share one long name, and thousands of units
// share one table. What refers to them adds up to far more than the file's size.
class FileBudget {
public:
  // Sections may be compressed, and linkers merge equal names: 32 times the size is more than real
  // files need.
  explicit FileBudget(uint64_t file_bytes) : left_((uint64_t{1} << 20) + 32 * file_bytes) {}

  // Returns whether so many bytes were left, and takes them. If there were fewer, none are left.
  bool take(uint64_t bytes) {
    const bool enough = bytes <= left_;
    left_ = enough ? left_ - bytes : 0;
    return enough;
  }

  uint64_t left() const { return left_; } // 0 if something exceeded it

  // Returns the bytes before the NUL byte, and takes them; nothing if fewer are left, or for
  // nullptr.
  std::optional<std::string_view> take_name(const char *name) {
    if (!name)
      return std::nullopt;
    const size_t size = ::strnlen(name, left_ + 1);
    return take(size) ? std::optional(std::string_view(name, size)) : std::nullopt;
  }

private:
  uint64_t left_;
};

} // namespace tally
