#pragma once

#include <string>

#include <tally/formats.h>

namespace tally::cli {

// What WriteOptions::gcovr_version is to be: `given`, or, where that is "" and the format is
// gcovr's, the version of the gcovr on PATH, which reads no other. "": there is none.
std::string gcovr_version_for(const Format &format, const std::string &given);

} // namespace tally::cli
