#pragma once

#include <tally/coverage.h>

namespace tally {

// Sorts functions by line and name, and unites those for which both are equal.
Result<void> unite_functions(FileCoverage &file);

} // namespace tally
