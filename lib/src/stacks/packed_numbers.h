// Lists of numbers, compressed while they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace tally {

// Encodes a number in 7 bits a byte, the lowest first. Calls put() with each byte.
template <typename Put> void write_number(uint64_t value, const Put &put) {
  for (; value >= 0x80; value >>= 7)
    put(static_cast<std::byte>(value | 0x80));
  put(static_cast<std::byte>(value));
}
// Decodes such a number. Calls next() for each byte.
template <typename Next> uint64_t read_number(const Next &next) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<uint64_t>(next());
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
}

// Both classes throw bad_alloc if memory is short.
class NumberPacker {
public:
  NumberPacker();
  NumberPacker(NumberPacker &&) noexcept;
  ~NumberPacker();

  void write(uint64_t value) {
    if (used_ + 10 > raw_.size())
      pack(false);
    write_number(value, [this](std::byte byte) { raw_[used_++] = byte; });
  }
  std::vector<std::byte> finish();

private:
  void pack(bool all);

  struct Free {
    void operator()(ZSTD_CCtx_s *context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::vector<std::byte> raw_, packed_;
  size_t used_ = 0;
};

class NumberUnpacker {
public:
  // `packed` is what NumberPacker::finish() returned, and outlives this object.
  explicit NumberUnpacker(std::span<const std::byte> packed);
  NumberUnpacker(NumberUnpacker &&) noexcept;
  ~NumberUnpacker();

  // Returns the next number, which must have been written.
  uint64_t read() {
    return read_number([this] {
      if (at_ == filled_)
        fill();
      return raw_[at_++];
    });
  }

private:
  void fill();

  struct Free {
    void operator()(ZSTD_DCtx_s *context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
  std::vector<std::byte> raw_;
  std::span<const std::byte> packed_;
  size_t taken_ = 0; // of packed_
  size_t at_ = 0, filled_ = 0;
};

// Differences are small numbers of either sign.
constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ (value < 0 ? UINT64_MAX : 0);
}
constexpr int64_t from_zigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
}

} // namespace tally
