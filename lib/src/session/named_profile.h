// Files of profiles for tables: with names.
#pragma once

#include <string>

#include <tally/formats.h>

namespace tally {

// read_profile(), and what holds addresses only is unwound and named by the files on this machine.
Result<ReadProfile> read_named_profile(const std::string &path, Diagnostics &findings);

} // namespace tally
