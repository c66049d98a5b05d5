// Reads the structures of a module in a program's memory. No number in them is trusted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/counter_layout.h"
#include "live/memory.h"
#include "support/byte_cursor.h"

namespace tally::live {

// Addresses are run-time addresses.
class ModuleReader {
public:
  ModuleReader(const LoadedModule &module, Memory &memory) : module_(module), memory_(memory) {}

  uint64_t pointer_size() const { return words().pointer_size; }
  uint64_t aligned(uint64_t offset) const { // to the size of a pointer
    return (offset + pointer_size() - 1) / pointer_size() * pointer_size();
  }
  // Returns whether one segment of the module contains the bytes.
  bool in_module(uint64_t address, uint64_t size) const {
    const uint64_t left = left_at(address);
    return left > 0 && size <= left;
  }
  // Reads bytes of the module. Returns a cursor over them, valid until the next call.
  std::optional<ByteCursor> bytes_at(uint64_t address, uint64_t size) {
    if (!in_module(address, size))
      return std::nullopt;
    if (!read_as_it_grows(memory_, address, size, buffer_))
      return std::nullopt;
    return ByteCursor(std::string_view(buffer_.data(), size), words().big_endian);
  }
  uint64_t take_pointer(ByteCursor &cursor) const {
    return pointer_size() == 4 ? cursor.u32() : cursor.u64_whole();
  }
  std::optional<uint64_t> pointer_at(uint64_t address) {
    auto cursor = bytes_at(address, pointer_size());
    return cursor ? std::optional(take_pointer(*cursor)) : std::nullopt;
  }
  // Reads a text that a 0 ends, as far as a path can be long.
  std::optional<std::string> string_at(uint64_t address) const {
    constexpr size_t most_path = 4096;
    std::string text;
    while (text.size() < most_path) {
      char piece[64];
      // Never beyond the text's last page.
      const size_t size = std::min(sizeof piece - address % sizeof piece, left_at(address));
      if (size == 0 || !memory_.read(address, std::as_writable_bytes(std::span(piece, size))))
        return std::nullopt;
      const char *const end = std::find(piece, piece + size, '\0');
      text.append(piece, static_cast<size_t>(end - piece));
      if (end != piece + size)
        return text;
      address += size;
    }
    return std::nullopt;
  }

private:
  // Returns the number of bytes from the address to the end of its segment; 0 if it is in none.
  uint64_t left_at(uint64_t address) const {
    for (const AddressRange &segment : module_.places.segments)
      if (segment.contains(address - module_.bias, 1))
        return segment.high - (address - module_.bias);
    return 0;
  }
  const WordLayout &words() const { return module_.places.words; }

  const LoadedModule &module_;
  Memory &memory_;
  std::string buffer_;
};

} // namespace tally::live
