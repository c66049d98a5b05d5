// Computes MC/DC (modified condition/decision coverage) from the test vectors that ran.
#pragma once

#include <vector>

#include <tally/coverage.h>

#include "coverage/llvm_counts.h"

namespace tally::llvm {

struct Decision {
  const CountedRegion *region = nullptr;         // of kind decision
  std::vector<const CountedRegion *> conditions; // the first to be evaluated comes first
  McdcCoverage coverage;
};

struct Decisions {
  std::vector<Decision> decisions;
  size_t left_out = 0; // more than 64 conditions, too many vectors, or damaged
};

// Returns the decisions of a function. A condition is covered if two vectors ran that differ in it
// alone, among the conditions that both evaluate, and that have different results. One that is
// constant is folded, and cannot be covered.
Decisions decisions_of(const CountedFunction &function);

} // namespace tally::llvm
