// The length of an operand in the code of x86-64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tally::symbolize {

// Returns how many bytes the ModRM byte at the beginning of `code`, its SIB byte and its offset
// take. Section 2.1.5 of volume 2 of Intel's manual describes them. A byte that is missing counts
// as 0.
inline size_t operand_size(std::string_view code) {
  const auto byte = [code](size_t at) {
    return at < code.size() ? static_cast<uint8_t>(code[at]) : uint8_t{0};
  };
  const uint8_t mode = byte(0) >> 6, base = byte(0) & 7;
  const bool has_sib = mode != 3 && base == 4;
  const bool has_wide_offset =
      mode == 2 || (mode == 0 && (base == 5 || (has_sib && (byte(1) & 7) == 5)));
  return size_t{1} + (has_sib ? 1 : 0) + (has_wide_offset ? 4 : mode == 1 ? 1 : 0);
}

} // namespace tally::symbolize
