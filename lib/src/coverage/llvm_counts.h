// Counts the regions of functions with Clang's source-based coverage.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tally/diagnostics.h>

#include "formats/llvm/coverage_mapping.h"
#include "formats/llvm/source_profile.h"

namespace tally::llvm {

struct CountedRegion {
  MappingRegion region;
  uint64_t count = 0;
  uint64_t false_count = 0; // of a branch
};

struct CountedFunction {
  std::string name;
  std::vector<std::string_view> files; // as in MappedFunction
  uint64_t count = 0;                  // how often it was entered
  std::vector<CountedRegion> regions;  // in the order of the mapping; at least one is code
  std::string bitmap;                  // of MC/DC
  bool has_other_bitmap = false;       // in a layout that is not known

  // Returns for each file the region that it is expanded in, none for a file that is not expanded.
  std::vector<const CountedRegion *> expansions() const;
};

// A profile, and the file that it was read from.
struct ReadProfile {
  SourceProfile profile;
  bool is_indexed = false;
  std::string path;
};

// Adds the counts of a function to those of the same version of it.
void add_counts(CounterRecord &sum, const CounterRecord &more);

// Decodes each mapping once, for several calls of count_functions(). The objects must outlive it.
class DecodedMappings {
public:
  const Result<MappedFunction> &of(const CoverageObject &object, const MappingRecord &record);

private:
  using Key = std::tuple<uint64_t, uint64_t, uint64_t, std::string_view>;
  std::map<Key, Result<MappedFunction>> functions_; // objects share many
};

// Selects objects: all, or those that one of the profiles may belong to.
enum class CountedObjects : uint8_t { all, of_profiles };

// Counts the functions of all objects with all profiles. A raw profile that names the build ids of
// its image belongs to the objects with these ids only; any other belongs to all objects. A
// function that several objects share occurs once. Reports what does not fit together. The objects
// must outlive the result.
std::vector<CountedFunction> count_functions(std::span<const CoverageObject> objects,
                                             std::span<const ReadProfile> profiles,
                                             Diagnostics &diagnostics);
// Without `mappings`, does not keep what it decodes.
std::vector<CountedFunction> count_functions(std::span<const CoverageObject> objects,
                                             std::span<const ReadProfile> profiles,
                                             CountedObjects which, DecodedMappings *mappings,
                                             Diagnostics &diagnostics);

} // namespace tally::llvm
