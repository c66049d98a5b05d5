#pragma once

#include <functional>
#include <string>

#include <tally/formats.h>

namespace tally::cli {

// Writes with WriteOptions::gcovr_version as it is to be: `given`, or, where that is "" and the
// format is gcovr's, the version of the gcovr on PATH, which reads no other. The newest that is
// known here, where there is none, or where that one is not known.
Result<Written> write_for_gcovr(const Format &format, WriteOptions options,
                                const std::string &given,
                                const std::function<Result<Written>(const WriteOptions &)> &write);

} // namespace tally::cli
