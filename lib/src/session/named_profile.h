// Files of profiles for tables: with names.
#pragma once

#include <string>

#include <tally/formats.h>

namespace tally {

// read_profile(), and what holds addresses only is unwound and named by the files on this machine;
// counts of one program's addresses (gmon) by `program`, where that is not empty.
Result<ReadProfile> read_named_profile(const std::string &path, Diagnostics &findings,
                                       const std::string &program = {});

} // namespace tally
