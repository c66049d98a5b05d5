// Counts the functions of a source file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tally {

struct FunctionPlace {
  uint32_t line; // 0 if unknown
  std::string_view name;
  bool ran;
};

struct FunctionTotals {
  uint64_t found = 0, executed = 0;
};

// The instantiations of a template, which begin in one line, count as one function, which ran if
// some of them did. LLVM's tools and lcov 2 count so.
FunctionTotals totals_of(std::vector<FunctionPlace> functions);

} // namespace tally
