#pragma once

#include "model/coverage.h"

namespace tally {

// Sorts functions by line and name, and unites functions that have the same line and name.
Result<void> unite_functions(FileCoverage &file);

} // namespace tally
