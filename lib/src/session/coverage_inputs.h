#pragma once

#include <string>
#include <vector>

#include <tally/build_notes.h>
#include <tally/counted_object.h>
#include <tally/diagnostics.h>

namespace tally {

struct CoverageInputs {
  std::vector<ObjectFiles> objects; // each once
  std::vector<std::string> reports;
  std::vector<PathMap> maps; // of `build`
};

// The files of CollectOptions::paths, as far as `build` has them; without one, counters that
// GCOV_PREFIX led elsewhere are brought together with their notes.
Result<CoverageInputs> find_inputs(const std::vector<std::string> &paths, const std::string &build,
                                   Diagnostics &diagnostics);

} // namespace tally
