#pragma once

#include <string>
#include <vector>

#include <tally/counted_object.h>
#include <tally/diagnostics.h>

namespace tally {

struct CoverageInputs {
  std::vector<ObjectFiles> objects; // each once
  std::vector<std::string> reports;
};

// The files of CollectOptions::paths, as far as `build` has them; without one, counters that
// GCOV_PREFIX led elsewhere are brought together with their notes.
Result<CoverageInputs> find_inputs(const std::vector<std::string> &paths, const std::string &build,
                                   Diagnostics &diagnostics);

} // namespace tally
