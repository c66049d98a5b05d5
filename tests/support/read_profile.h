// Reads a file of any format as a profile, for tests.
#pragma once

#include <string>

#include "formats/formats.h"

namespace tally {

inline Result<ReadProfile> read_profile(const std::string &path, Diagnostics &diagnostics,
                                        Unwinder *unwinder = nullptr) {
  TALLY_TRY(file, read_file(path, diagnostics, nullptr, {}, unwinder));
  return profile_of(path, std::move(file));
}

} // namespace tally
