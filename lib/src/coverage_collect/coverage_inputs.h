#pragma once

#include <string>
#include <vector>

#include <tally/diagnostics.h>

#include "coverage_collect/build_notes.h"
#include "coverage_collect/counted_object.h"

namespace tally {

struct CoverageInputs {
  std::vector<ObjectFiles> objects; // without duplicates
  std::vector<std::string> reports;
  std::vector<PathMap> maps; // the build's path maps
};

// Finds the files of CollectOptions::paths. If `build` is given, keeps only objects that this build
// makes; otherwise pairs counters that GCOV_PREFIX redirected with their notes.
Result<CoverageInputs> find_inputs(const std::vector<std::string> &paths, const std::string &build,
                                   Diagnostics &diagnostics);

} // namespace tally
