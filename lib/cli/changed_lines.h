// Restricts coverage to changed lines: `tally coverage --diff REV`.
#pragma once

#include <string>

#include "model/coverage.h"
#include "support/result.h"

namespace tally::cli {

// Keeps only the lines that `git diff REV`, run in `root` (real and absolute), shows as added or
// changed in files below `root`. The coverage of the tests is restricted in the same way.
Result<void> keep_changed(Coverage &coverage, const std::string &root, const std::string &revision);

} // namespace tally::cli
