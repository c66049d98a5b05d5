// Coverage of what changed: `tally coverage --diff REV`.
#pragma once

#include <string>

#include <tally/coverage.h>
#include <tally/result.h>

namespace tally::cli {

// Leaves the lines that `git diff REV` names as added or changed in the files below `root` (real
// and absolute), of which git is asked there. Lines of tests, too.
Result<void> keep_changed(Coverage &coverage, const std::string &root, const std::string &revision);

} // namespace tally::cli
