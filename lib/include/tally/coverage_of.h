// From the counts of one object to the coverage of its sources.
#pragma once

#include <functional>
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
  // Which sources count, by their path; empty: all.
  std::function<bool(const std::string &path)> wanted;
};

// A path as the compiler had it, joined with the folder it worked in, without "." and "..": as
// text, for the folder need not be here.
TALLY_API std::string absolute_path(std::string_view path, std::string_view folder);

// By path. A line's count is the sum of its instances.
TALLY_API Result<Coverage> coverage_of(const CoverageGraph &graph, const GcovCounts &counts,
                                       const CoverageOptions &options = {});

} // namespace tally
