// Reads the list of binary ids (build ids) that raw and indexed profiles hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/byte_cursor.h"

namespace tally::llvm {

// Adds the ids to `out` as lower-case hex. `is_padded` says whether each is padded to 8 bytes.
// Returns false if the list is damaged.
inline bool read_binary_ids(std::string_view bytes, bool big_endian, bool is_padded,
                            std::vector<std::string> &out) {
  constexpr std::string_view digits = "0123456789abcdef";
  ByteCursor from(bytes, big_endian);
  while (from.left() > 0) {
    const uint64_t size = from.u64_whole();
    const std::string_view id = from.take(size);
    if (from.failed())
      return false;
    if (is_padded)
      from.align(8);
    std::string text;
    for (const char byte : id) {
      text += digits[static_cast<unsigned char>(byte) >> 4];
      text += digits[static_cast<unsigned char>(byte) & 15];
    }
    out.push_back(std::move(text));
  }
  return !from.failed();
}

} // namespace tally::llvm
