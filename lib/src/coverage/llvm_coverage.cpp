#include "coverage/llvm_coverage.h"

#include <utility>

#include "coverage/llvm_mcdc.h"

namespace tally::llvm {

Coverage coverage_of(std::span<const CoverageObject> objects, std::vector<ReadProfile> profiles,
                     CountedObjects which, const PathOf &path_of, Diagnostics &diagnostics) {
  const auto each = [&](const TakeFunction &take) {
    count_functions(
        objects, std::move(profiles), which, diagnostics,
        [&](const CountedFunction &function) { take(function, decisions_of(function)); });
  };
  return coverage_of_functions(each, path_of, diagnostics);
}

} // namespace tally::llvm
