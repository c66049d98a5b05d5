// Converts the counts of one object to the coverage of its sources.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coverage/gcov_counts.h"
#include "model/coverage.h"
#include "model/coverage_graph.h"
#include "transform/merge.h"

namespace tally {

struct CoverageOptions {
  // Includes branches that exceptions take. By default such branches are left out, because nearly
  // every call in C++ has one that is not in the source.
  bool throw_branches = false;
  MergePolicy policy = MergePolicy::lenient;
  // Returns the path of a source, given GcovFile::name and the working directory of the compiler
  // ("" if unknown), or nothing to leave the source out. If empty, absolute_path() is used.
  std::function<std::optional<std::string>(std::string_view name, std::string_view folder)> path_of;
};

// Returns a compiler's path joined with its working directory `folder`, without "." and "..". Does
// not access the file system, because the directory need not exist on this machine.
std::string absolute_path(std::string_view path, std::string_view folder);

// Returns the coverage, sorted by path. The count of a line or function is the sum over its
// instances, using times_run(). Instances of a template, and the variants of a constructor or
// destructor, share their branches; different functions that begin in one line do not. Errors:
// overflow if a count exceeds 64 bits; invalid_input if objects disagree about a source and
// CoverageOptions::policy is strict.
Result<Coverage> coverage_of(const CoverageGraph &graph, const GcovCounts &counts,
                             Diagnostics &diagnostics, const CoverageOptions &options = {});

} // namespace tally
