// What is found in coverage, whoever finds it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tally/result.h>

#include "support/demangle.h"

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

// It is evidence that something ran. How often is lost, and no sum with it means anything.
inline CoverageFinding negative_count() {
  return {"a count is negative, and read as 1: it tells that this ran, not how often (threads that "
          "count without -fprofile-update=atomic leave such counts)",
          "negative counts"};
}
// In Written::lost of a format that has no such counts.
inline constexpr char negative_counts_lost[] =
    "negative counts (written as 1, because the code ran)";
// 2^64-1 is -1 to what writes numbers without a sign.
inline CoverageFinding large_count() {
  return {
      "a count does not fit in 63 bits, and is read as 1: it tells that this ran, not how often",
      "large counts"};
}

// Names the functions whose counts contradict each other, in one sentence.
class InexactFunctions {
public:
  void add(std::string_view name, std::string_view path, uint32_t line) {
    if (++count_ <= most_names)
      names_ += fmt::format("{}{} ({}:{})", count_ > 1 ? ", " : "", demangled(name), path, line);
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    const size_t more = count_ - std::min(count_, most_names);
    return fmt::format(
        "negative counts in {} function{}, whose counts are not exact: {}{}; lines with a negative "
        "count are reported as run. Threads that count without -fprofile-update=atomic leave such "
        "counts, as do longjmp() and, with Clang, exceptions",
        count_, count_ == 1 ? "" : "s", names_, more > 0 ? fmt::format(", and {} more", more) : "");
  }

private:
  static constexpr size_t most_names = 10;
  size_t count_ = 0;
  std::string names_;
};

// Reports that `line` of a source has a count, although its text has only `lines` lines.
inline std::string beyond_the_end(uint32_t line, size_t lines) {
  return fmt::format(
      "line {} is counted, but the source ends with line {}: it was changed after it "
      "was compiled, or the compiler names a wrong line",
      line, lines);
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
