#pragma once

#include <string>
#include <vector>

#include <tally/build_notes.h>
#include <tally/counted_object.h>
#include <tally/diagnostics.h>

namespace tally {

struct CoverageInputs {
  std::vector<ObjectFiles> objects; // without duplicates
  std::vector<std::string> reports;
  std::vector<PathMap> maps; // of the build
};

// Finds the files of CollectOptions::paths. If `build` is given, keeps only objects that this build
// makes; otherwise pairs counters that GCOV_PREFIX redirected with their notes.
Result<CoverageInputs> find_inputs(const std::vector<std::string> &paths, const std::string &build,
                                   Diagnostics &diagnostics);

} // namespace tally
