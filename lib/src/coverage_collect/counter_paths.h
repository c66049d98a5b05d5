// Finds counters and notes below directories.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"

namespace tally {

// Returns the files below the directory `folder` for whose name (without directory) `wanted`
// returns true, sorted by path. Symbolic links to directories are not followed. Fails if `folder`
// cannot be read; for a directory below it that cannot be read, adds a warning.
Result<std::vector<std::string>>
files_below(const std::string &folder, const std::function<bool(std::string_view name)> &wanted,
            Diagnostics &diagnostics);

// Return whether a file name has an ending of counters (.gcda, .da) or of notes (.gcno, .bbg).
bool is_counters_name(std::string_view name);
bool is_notes_name(std::string_view name);

} // namespace tally
