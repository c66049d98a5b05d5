// Computes MC/DC (modified condition/decision coverage) from the test vectors that ran.
#pragma once

#include "formats/llvm/counted_function.h"

namespace tally::llvm {

// Returns the decisions of a function. A condition is covered if two vectors ran that differ in it
// alone, among the conditions that both evaluate, and that have different results. One that is
// constant is folded, and cannot be covered.
Decisions decisions_of(const CountedFunction &function);

} // namespace tally::llvm
