#pragma once

#include <functional>
#include <string>

#include <tally/formats.h>

namespace tally::cli {

// Calls `write` with WriteOptions::gcovr_version set to `given`. If that is "" and the format is
// gcovr's, uses the version of the gcovr on PATH, which reads no other. If there is no gcovr, or
// its version is unknown here, uses the newest known version.
Result<Written> write_for_gcovr(const Format &format, WriteOptions options,
                                const std::string &given,
                                const std::function<Result<Written>(const WriteOptions &)> &write);

} // namespace tally::cli
