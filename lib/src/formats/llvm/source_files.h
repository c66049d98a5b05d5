// Computes the coverage of sources from functions with Clang's source-based coverage.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "formats/llvm/counted_function.h"
#include "model/coverage.h"
#include "support/diagnostics.h"

namespace tally::llvm {

// The outcomes of the branches at one place of a source.
struct Outcomes {
  uint64_t if_true = 0, if_false = 0;
  // An outcome with a constant count of 0 cannot happen.
  bool has_true = false, has_false = false;

  void add(const Outcomes &more);
};

// Branches at one place of a source. Within expansions, it is that of the outermost one, and those
// within it tell one branch from another.
struct BranchesAt {
  SourcePlace place;
  std::vector<SourcePlace> expansions;
  Outcomes outcomes;

  auto key() const { return std::tie(place, expansions); }
};

// The place of a decision and the number of its conditions, which may differ where a macro stands.
using DecisionKey = std::tuple<SourcePlace, SourcePlace, uint32_t>;

// The branches and decisions of a source, in any order.
struct PlacedOutcomes {
  std::vector<BranchesAt> branches;
  std::map<DecisionKey, McdcCoverage> decisions;

  // A condition of a template or of a macro's body counts as covered if it is so in one of them.
  void add(SourcePlace start, SourcePlace end, const McdcCoverage &decision);
};

// Returns a source's lines, with their outcomes, and without functions. Returns nothing if no line
// has a count, or if the segments, in the order of the source, are missing or cannot be those of so
// many regions that a compiler makes, which is reported.
std::optional<FileCoverage> file_of_segments(const std::string &path,
                                             std::optional<std::vector<SegmentCoverage>> segments,
                                             size_t regions, PlacedOutcomes outcomes,
                                             Diagnostics &diagnostics);

// Returns the path of a source, or nothing if it is left out.
using PathOf = std::function<std::optional<std::string>(const std::string &)>;
using TakeFunction = std::function<void(const CountedFunction &, const Decisions &)>;

// Returns the coverage of all sources that have a path, from the functions for which `each` calls
// its argument. The names of their files are kept until it returns. A source's lines and branches
// add up those of all functions in it, of files that are included into functions, and of the bodies
// of macros. A branch in the body of a macro counts there, and where the macro stands. Reports
// sources that are left out because their regions are not those of a compiler.
Coverage coverage_of_functions(const std::function<void(const TakeFunction &)> &each,
                               const PathOf &path_of, Diagnostics &diagnostics);

} // namespace tally::llvm
