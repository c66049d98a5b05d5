// Reads DWARF's encodings (DWARF 5, chapter 7) from bytes that may be damaged.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <elf.h>
#include <libelf.h>

namespace tally::symbolize {

inline bool swaps_bytes(Elf *elf) {
  const char *ident = elf_getident(elf, nullptr);
  const bool big = ident && ident[EI_DATA] == ELFDATA2MSB;
  return big != (std::endian::native == std::endian::big);
}

// Reads the bytes of a DWARF section, with a check against their end. After an error the cursor
// stays where it failed.
class DwarfCursor {
public:
  DwarfCursor(const unsigned char *at, const unsigned char *end, bool swap)
      : at_(at), end_(end), swap_(swap) {}

  bool good() const { return good_; }
  const unsigned char *at() const { return at_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  void fail() { good_ = false; }
  void move_to(const unsigned char *at) { at_ = at; }

  void skip(uint64_t bytes) {
    if (bytes > left())
      fail();
    else
      at_ += bytes;
  }
  template <class T> T fixed() {
    T value{};
    if (left() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    if constexpr (sizeof value == 2)
      value = swap_ ? __builtin_bswap16(value) : value;
    else if constexpr (sizeof value == 4)
      value = swap_ ? __builtin_bswap32(value) : value;
    else if constexpr (sizeof value == 8)
      value = swap_ ? __builtin_bswap64(value) : value;
    return value;
  }
  uint64_t sized(unsigned bytes) {
    switch (bytes) {
    case 1:
      return fixed<uint8_t>();
    case 2:
      return fixed<uint16_t>();
    case 3: {
      const uint64_t first = fixed<uint8_t>();
      const uint64_t rest = fixed<uint16_t>();
      const bool big = swap_ == (std::endian::native == std::endian::little);
      return big ? first << 16 | rest : rest << 8 | first;
    }
    case 4:
      return fixed<uint32_t>();
    case 8:
      return fixed<uint64_t>();
    default:
      fail();
      return 0;
    }
  }
  uint64_t uleb() { // DWARF 5, section 7.6
    if (at_ < end_ && *at_ < 0x80)
      return *at_++;
    uint64_t value = 0;
    for (unsigned shift = 0; at_ < end_ && shift < most_bits; shift += 7) {
      const unsigned char byte = *at_++;
      if (shift < 64)
        value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80)
        return value;
    }
    fail();
    return 0;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; at_ < end_ && shift < most_bits;) {
      const unsigned char byte = *at_++;
      if (shift < 64)
        value |= uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if (byte < 0x80) {
        if ((byte & 0x40) && shift < 64)
          value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
      }
    }
    fail();
    return 0;
  }
  std::string_view string() {
    const auto *start = reinterpret_cast<const char *>(at_);
    const void *end = std::memchr(at_, 0, left());
    if (!end) {
      fail();
      return {};
    }
    at_ = static_cast<const unsigned char *>(end) + 1;
    return {start, static_cast<size_t>(static_cast<const char *>(end) - start)};
  }

private:
  // Assemblers pad numbers to a few bytes; a damaged one may have millions.
  static constexpr unsigned most_bits = 128;

  const unsigned char *at_;
  const unsigned char *end_;
  bool swap_;
  bool good_ = true;
};

inline DwarfCursor dwarf_cursor(std::string_view bytes, bool swap) {
  const auto *const start = reinterpret_cast<const unsigned char *>(bytes.data());
  return {start, start + bytes.size(), swap};
}

} // namespace tally::symbolize
