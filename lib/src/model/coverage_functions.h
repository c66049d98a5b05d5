#pragma once

#include <tally/coverage.h>

namespace tally {

// Puts functions in order; those of one line and name become one.
Result<void> unite_functions(FileCoverage &file);

} // namespace tally
