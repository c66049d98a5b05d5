// Collects Clang's source-based coverage: profiles, and the objects that map their counters to
// sources.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tally/coverage.h>
#include <tally/diagnostics.h>
#include <tally/merge.h>
#include <tally/result.h>

#include "coverage/llvm_counts.h"

namespace tally {

struct SourceBasedInputs {
  std::vector<std::string> profiles; // raw and indexed ones
  std::vector<std::string> objects;  // executables, libraries, relocatable files and archives
  // Directories in which programs and shared libraries are looked for.
  std::vector<std::string> folders;
};

struct SourceBasedCoverage {
  Coverage coverage;
  std::vector<std::string> objects; // those with mappings
};

// What was read from the memory of a program, in place of files.
struct GivenSourceBased {
  std::vector<llvm::ReadProfile> profiles;
  std::shared_ptr<const std::vector<llvm::CoverageObject>> objects; // null if there are none
  bool only_executed = false; // leave out sources, and functions, that did not run

  bool empty() const { return !objects || objects->empty(); }
};

// Returns whether the beginning of a file is that of a profile, or of an object.
bool is_source_profile(std::string_view head);
bool is_object_file(std::string_view head);

// Reads the profiles, and the coverage of all sources for which `path_of` returns a path. Reports
// single profiles, objects and functions that cannot be used. Errors: that of a profile if all are
// unusable, or if the policy is strict; no_data if no object has a mapping.
Result<SourceBasedCoverage>
collect_source_based(const SourceBasedInputs &inputs,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     MergePolicy policy, Diagnostics &diagnostics);

} // namespace tally
