// Parses amounts of memory that users type.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <tally/file_io.h>
#include <tally/result.h>

#include "session/command_line.h"

namespace tally {

// Parses a number of bytes above 0, or of KiB, MiB or GiB: "500000", "64K", "512M", "4G". Anything
// else is invalid_argument, with a message alone.
inline Result<uint64_t> byte_size_of(std::string_view text) {
  constexpr std::string_view units = "KMG";
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  if (error != std::errc() || bytes == 0 || unit.size() > 1 || (!unit.empty() && power == 0) ||
      bytes > UINT64_MAX >> 10 * power)
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected a number of bytes such as 500M or 4G, found '{}'", text));
  return bytes << 10 * power;
}

inline Result<void> check_byte_size(std::string_view text) {
  TALLY_CHECK(byte_size_of(text));
  return {};
}

// Returns how a command reads its files: with --memory-limit, which the command line has checked, a
// packed file may unpack to as much.
inline ReadOptions reading_of(const ParsedCommand &given) {
  ReadOptions out;
  if (given.has("memory-limit"))
    out.memory_limit = byte_size_of(given.value("memory-limit")).value();
  out.max_unpacked_bytes = std::max(out.max_unpacked_bytes, out.memory_limit);
  return out;
}

} // namespace tally
