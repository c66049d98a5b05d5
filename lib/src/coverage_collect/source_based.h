// Collects Clang's source-based coverage: profiles, and the objects that map their counters to
// sources.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coverage/llvm_counts.h"
#include "coverage_collect/test_counters.h"
#include "model/coverage.h"
#include "support/diagnostics.h"
#include "support/result.h"
#include "transform/merge.h"

namespace tally {

// The raw profiles among the counters that one run of a test left.
struct ProfilesOfRun {
  std::string test;
  const PackedCounters *counters = nullptr;
};

struct SourceBasedInputs {
  std::vector<std::string> profiles; // raw and indexed ones
  std::vector<ProfilesOfRun> runs;   // whose profiles count, too
  std::vector<std::string> objects;  // executables, libraries, relocatable files and archives
  // Directories in which programs and shared libraries are looked for.
  std::vector<std::string> folders;
  bool is_empty() const { return profiles.empty() && runs.empty(); }
  bool are_of_build = false; // `objects` are all programs of a build: some may have no mapping
};

// Coverage::tests has the tests of all runs with counts of these objects; and if there is any run,
// the test "" with the counts of SourceBasedInputs::profiles.
struct SourceBasedCoverage {
  Coverage coverage;
  std::vector<std::string> objects; // those with mappings
};

// What was read from the memory of a program, in place of files.
struct GivenSourceBased {
  std::vector<llvm::ReadProfile> profiles;
  std::shared_ptr<const std::vector<llvm::CoverageObject>> objects; // null if there are none
  bool only_executed = false; // leave out sources, and functions, that did not run
  bool of_profiles = false;   // leave out objects that no profile belongs to

  bool empty() const { return !objects || objects->empty(); }
};

// Returns the coverage of all sources for which `path_of` returns a path.
Coverage coverage_of(GivenSourceBased given,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     Diagnostics &diagnostics);

// Returns whether the beginning of a file is that of a profile, or of an object.
bool is_source_profile(std::string_view head);
bool is_object_file(std::string_view head);
bool has_source_profile(const PackedCounters &counters);

// Reads the profiles, and the coverage of all sources for which `path_of` returns a path. Reports
// single profiles, objects and functions that cannot be used. Errors: that of a profile if all are
// unusable, or if the policy is strict; no_data if no object has a mapping.
// The count of a line is the largest of its regions, so that those of the tests may add up to more
// than the count in SourceBasedCoverage::coverage.
Result<SourceBasedCoverage>
collect_source_based(const SourceBasedInputs &inputs,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     MergePolicy policy, Diagnostics &diagnostics);

} // namespace tally
