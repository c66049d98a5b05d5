#pragma once

#include <string>
#include <string_view>

#include "support/result.h"

namespace tally::cli {

// Returns the version of the JSON format of the gcovr on PATH, which reads no other; "" if there is
// no gcovr.
std::string version_of_gcovr();

// Calls write(version), where version is WriteOptions::gcovr_version: `given`, or that of the gcovr
// on PATH if `given` is "" and the format is gcovr's. If there is no gcovr, or its version is
// unknown here, `version` is "", which means the newest known version.
template <class Write>
auto write_for_gcovr(std::string_view format, const std::string &given, const Write &write) {
  if (format != "gcovr" || !given.empty())
    return write(given);
  auto written = write(version_of_gcovr());
  if (written || written.error().code != ErrorCode::invalid_argument)
    return written;
  return write(std::string());
}

} // namespace tally::cli
