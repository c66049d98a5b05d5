// A function with Clang's source-based coverage, and the counts of its regions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/llvm/coverage_mapping.h"
#include "model/coverage.h"

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

struct Decision {
  uint32_t file = 0; // as in MappingRegion
  SourcePlace start, end;
  McdcCoverage coverage;
};

struct Decisions {
  std::vector<Decision> decisions;
  size_t left_out = 0; // more than 64 conditions, too many vectors, or damaged
};

} // namespace tally::llvm
