// Files of counters and notes below folders.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/export.h>

namespace tally {

// Files below a folder of which `wanted` takes the name, by path. Links to folders are not
// followed. A folder below it that cannot be read is found; `folder` itself is an error.
TALLY_API Result<std::vector<std::string>>
files_below(const std::string &folder, const std::function<bool(std::string_view name)> &wanted,
            Diagnostics &diagnostics);

// By the ending: .gcda, .da; … .gcno, .bbg.
TALLY_API bool is_counters_name(std::string_view name);
TALLY_API bool is_notes_name(std::string_view name);

} // namespace tally
