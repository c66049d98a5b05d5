#pragma once

#include <string>
#include <vector>

#include "coverage_collect/build_notes.h"
#include "coverage_collect/counted_object.h"
#include "coverage_collect/source_based.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally {

struct CoverageInputs {
  std::vector<ObjectFiles> objects; // without duplicates
  std::vector<std::string> reports;
  SourceBasedInputs source_based;
  std::vector<PathMap> maps; // the build's path maps
};

// Finds the files of CollectOptions::paths. If `build` is given, keeps only objects that this build
// makes; otherwise pairs counters that GCOV_PREFIX redirected with their notes. Counters of streams
// are paired with notes in both cases.
// `mapped` are further objects with a mapping of coverage. If neither `paths` nor `mapped` names
// such an object, those of profiles are looked for below the directories of `paths`. Streams are
// read with `reading`.
Result<CoverageInputs> find_inputs(const std::vector<std::string> &paths, const std::string &build,
                                   const std::vector<std::string> &mapped,
                                   const ReadOptions &reading, Diagnostics &diagnostics);

} // namespace tally
