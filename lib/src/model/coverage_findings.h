// What is found in coverage, whoever finds it.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tally/result.h>

namespace tally {

inline tl::unexpected<Error> counts_overflow(std::string path, uint32_t line) {
  return fail(ErrorCode::overflow, "counts add up to more than 64 bits hold", std::move(path),
              Position::at_line(line));
}

// A sentence, and the key by which it is told once.
struct CoverageFinding {
  std::string text;
  std::string_view key;
};

// lcov and gcovr read it as 0, too; of what is left no sum can be made.
inline CoverageFinding negative_count() {
  return {"a count is negative, and read as 0: the program's threads lost some (its compiler knows "
          "-fprofile-update=atomic)",
          "negative counts"};
}
inline CoverageFinding no_line_0() { return {"there is no line 0: left out", "line 0"}; }
inline CoverageFinding end_before_begin() {
  return {"a function ends before it begins: its end is left out", "ends of functions"};
}

constexpr uint32_t most_terms = 64; // that ConditionCoverage holds
inline CoverageFinding too_many_terms() {
  return {fmt::format("a condition of more than {} terms is left out", most_terms),
          "large conditions"};
}

} // namespace tally
