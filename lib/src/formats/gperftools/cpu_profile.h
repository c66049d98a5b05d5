// CPU profiles of gperftools: binary words, followed by the text of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/formats.h"
#include "support/diagnostics.h"

namespace tally::gperftools {

struct CpuHeader {
  bool is_wide = false; // words have 8 bytes, otherwise 4
  bool big_endian = false;
  bool is_java = false; // version 1: names of functions follow in place of mapped files
  uint64_t period_us = 0;
  uint64_t size = 0; // in bytes
};

// Returns the header that a file begins with; nothing if it is another file.
std::optional<CpuHeader> cpu_header_of(std::string_view head);
Result<Profile> read_cpu_profile(const CpuHeader &header, std::string_view bytes,
                                 const std::string &source, Diagnostics &diagnostics);

} // namespace tally::gperftools
