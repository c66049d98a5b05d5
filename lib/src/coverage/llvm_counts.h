// Counts the regions of functions with Clang's source-based coverage.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/diagnostics.h>

#include "formats/llvm/coverage_mapping.h"
#include "formats/llvm/source_profile.h"

namespace tally::llvm {

struct CountedRegion {
  MappingRegion region;
  uint64_t count = 0;       // the least that it may be
  uint64_t false_count = 0; // of a branch
  uint64_t uncertain = 0;   // how many more times it may have run; UINT64_MAX if there is no bound
};

struct CountedFunction {
  std::string_view name;
  std::vector<std::string_view> files; // as in MappedFunction
  uint64_t count = 0;                  // how often it was entered
  uint64_t uncertain = 0;              // as for a region
  std::vector<CountedRegion> regions;  // in the order of the mapping; at least one is code
  std::string bitmap;                  // of MC/DC
  bool has_other_bitmap = false;       // in a layout that is not known

  // Returns for each file the region that it is expanded in, none for a file that is not expanded.
  std::vector<const CountedRegion *> expansions() const;
};

// A profile, and the file that it was read from.
struct ReadProfile {
  SourceProfile profile;
  std::string path;
  const CoverageObject *object = nullptr; // if not null, the profile belongs to it alone
};

// Selects objects: all, or those that one of the profiles may belong to.
enum class CountedObjects : uint8_t { all, of_profiles };

// Counts the functions of all objects with all profiles, and calls take(function) for each one. The
// function is reused afterwards; what it refers to is the objects'. A raw profile that names the
// build ids of its image belongs to the objects with these ids only; any other belongs to all
// objects. A function that several objects share occurs once. Reports what does not fit together.
void count_functions(std::span<const CoverageObject> objects, std::vector<ReadProfile> profiles,
                     CountedObjects which, Diagnostics &diagnostics,
                     const std::function<void(const CountedFunction &)> &take);

} // namespace tally::llvm
