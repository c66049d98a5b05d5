// From the counts of one object to the coverage of its sources.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage.h>
#include <tally/coverage_graph.h>
#include <tally/gcov_counts.h>

namespace tally {

struct CoverageOptions {
  // Branches that exceptions take are left out: nearly every call of C++ has one, and nobody wrote
  // it.
  bool throw_branches = false;
  MergePolicy policy = MergePolicy::lenient;
  // Where a source lies: its name as GcovFile has it, and the folder that the compiler worked in
  // ("" where it is not told). Nothing: it does not count. Default: absolute_path().
  std::function<std::optional<std::string>(std::string_view name, std::string_view folder)> path_of;
};

// A path as the compiler had it, joined with the folder it worked in, without "." and "..": as
// text, for the folder need not be here.
TALLY_API std::string absolute_path(std::string_view path, std::string_view folder);

// By path. A line's count is the sum of its instances, a function's too; of a count below 0 it is
// times_run(). Instances of a template, and the variants of a constructor or destructor, share
// their branches; different functions that begin in one line do not.
TALLY_API Result<Coverage> coverage_of(const CoverageGraph &graph, const GcovCounts &counts,
                                       Diagnostics &diagnostics,
                                       const CoverageOptions &options = {});

} // namespace tally
