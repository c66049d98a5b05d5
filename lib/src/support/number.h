// Parses numbers that users type.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "support/result.h"

namespace tally {

// Parses decimal digits without anything else; a number outside of [least, most] is an error.
// `source` names the option that the number belongs to.
inline Result<uint64_t> whole_number(std::string_view text, uint64_t least, uint64_t most,
                                     std::string source) {
  uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected a whole number from {} to {}, found '{}'", least, most, text),
                std::move(source));
  return value;
}

} // namespace tally
