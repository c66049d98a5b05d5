// Computes the coverage of sources from Clang's source-based coverage.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tally/coverage.h>

#include "coverage/llvm_counts.h"

namespace tally::llvm {

// Returns the coverage of all sources for which `path_of` returns a path. A source's lines and
// branches add up those of all functions in it, of files that are included into functions, and of
// the bodies of macros. A branch in the body of a macro counts there, and where the macro stands.
// Reports what count_functions() reports, and sources that are left out because their regions are
// not those of a compiler.
Coverage coverage_of(std::span<const CoverageObject> objects, std::vector<ReadProfile> profiles,
                     CountedObjects which,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     Diagnostics &diagnostics);

} // namespace tally::llvm
