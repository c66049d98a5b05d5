// Bounds the memory that reading a file takes. A small file may unpack to gigabytes, and a few
// bytes of a table may each become a row of a hundred.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "support/unique_fd.h"

namespace tally {

// MemoryLimit::tick() and check() throw this. It derives from std::bad_alloc, because all code that
// allocates survives that.
class MemoryExceeded final : public std::bad_alloc {
public:
  explicit MemoryExceeded(uint64_t bytes);
  const char *what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

// While it exists, tick() and check() on the same thread compare how much the memory of this
// process has grown since it was created. Code that makes rows or values calls tick() with their
// number; no row or value takes more than a few hundred bytes. What other threads allocate
// meanwhile counts, too.
class MemoryLimit {
public:
  // `bytes` is the limit; 0: the usual one of a file of this size (0: unknown).
  explicit MemoryLimit(uint64_t bytes, uint64_t file_bytes = 0);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit &) = delete;
  MemoryLimit &operator=(const MemoryLimit &) = delete;

  // The limit for a file of this size if the user sets none.
  static uint64_t usual(uint64_t file_bytes);

  static bool is_exceeded();
  static void check();
  // Does the same, after so much of the file was read: a pipe has no size before.
  static void check(uint64_t read_bytes);
  static void tick(size_t rows = 1) {
    constexpr size_t rows_between_checks = size_t{1} << 14;
    if (!current_ || (current_->rows_ += rows) < rows_between_checks)
      return;
    current_->rows_ = 0;
    check();
  }

private:
  uint64_t used() const; // bytes

  static thread_local constinit MemoryLimit *current_;
  MemoryLimit *before_;
  UniqueFd statm_;
  bool is_usual_;
  uint64_t bytes_;
  uint64_t begin_ = 0;
  size_t rows_ = 0; // since the last check
};

} // namespace tally
