// Reads the fields of binary records in sequence.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tally {

// Converts a word between the machine's byte order and that of a file.
inline uint32_t in_order(uint32_t word, bool big_endian) {
  return big_endian == (std::endian::native == std::endian::big) ? word : __builtin_bswap32(word);
}

// After a read beyond the end, failed() is true, offset() stays where that read began, and all
// further reads return 0. Therefore a record can be read in one go and checked once.
class ByteCursor {
public:
  explicit ByteCursor(std::string_view bytes, bool big_endian = false)
      : bytes_(bytes), big_endian_(big_endian) {}

  size_t offset() const { return at_; }
  size_t before() const { return before_; } // offset of the most recent read
  size_t left() const { return bytes_.size() - at_; }
  bool failed() const { return failed_; }
  bool big_endian() const { return big_endian_; }

  uint32_t u32() {
    uint32_t value = 0;
    if (const std::string_view bytes = take(sizeof value); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof value);
    return in_order(value, big_endian_);
  }
  uint64_t u64() { // low word first, in either byte order
    const uint64_t low = u32();
    return low | uint64_t{u32()} << 32;
  }
  uint64_t u64_whole() { // as a single value in the file's byte order
    const uint64_t first = u32(), second = u32();
    return big_endian_ ? first << 32 | second : second << 32 | first;
  }
  uint16_t u16() {
    uint16_t value = 0;
    if (const std::string_view bytes = take(sizeof value); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof value);
    return big_endian_ == (std::endian::native == std::endian::big) ? value
                                                                    : __builtin_bswap16(value);
  }
  uint64_t uleb128() { // fails if the number does not fit
    if (!failed_ && left() > 0 && (static_cast<unsigned char>(bytes_[at_]) & 0x80) == 0) {
      before_ = at_;
      return static_cast<unsigned char>(bytes_[at_++]); // most numbers are small
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (byte.empty())
        return 0;
      const auto bits = static_cast<uint64_t>(static_cast<unsigned char>(byte[0]) & 0x7f);
      if (shift == 63 && bits > 1)
        break;
      value |= bits << shift;
      if ((static_cast<unsigned char>(byte[0]) & 0x80) == 0)
        return value;
    }
    failed_ = true;
    return 0;
  }
  void align(size_t unit) { take((unit - at_ % unit) % unit); }
  std::string_view take(size_t size) {
    before_ = at_;
    if (failed_ || size > left()) {
      failed_ = true;
      return {};
    }
    at_ += size;
    return bytes_.substr(before_, size);
  }

private:
  std::string_view bytes_;
  bool big_endian_;
  size_t at_ = 0, before_ = 0;
  bool failed_ = false;
};

} // namespace tally
