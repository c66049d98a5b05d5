// Computes the coverage of sources from Clang's source-based coverage.
#pragma once

#include <span>
#include <vector>

#include "coverage/llvm_counts.h"
#include "formats/llvm/source_files.h"
#include "model/coverage.h"

namespace tally::llvm {

// Returns the coverage of all sources for which `path_of` returns a path, as
// coverage_of_functions() does. Reports what count_functions() reports, too.
Coverage coverage_of(std::span<const CoverageObject> objects, std::vector<ReadProfile> profiles,
                     CountedObjects which, const PathOf &path_of, Diagnostics &diagnostics);

} // namespace tally::llvm
