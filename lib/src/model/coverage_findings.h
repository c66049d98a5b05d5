// Messages about coverage that readers and writers of several formats share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/coverage.h"
#include "support/demangle.h"
#include "support/result.h"

namespace tally {

inline tl::unexpected<Error> counts_overflow(std::string path, uint32_t line) {
  return fail(ErrorCode::overflow, "the sum of the counts exceeds 63 bits", std::move(path),
              Position::at_line(line));
}

// A message, and the key by which repeated diagnostics are reported once.
struct CoverageFinding {
  std::string text;
  std::string_view key;
};

// A negative count proves that something ran. The number of executions is lost, and a sum that
// included such a count would be meaningless.
inline CoverageFinding negative_count() {
  return {"a count is negative and is read as 1: the code ran, but how often is not known (threads "
          "that count without -fprofile-update=atomic leave such counts)",
          "negative counts"};
}
// Entry of Written::lost for a format that cannot store negative counts.
inline constexpr char negative_counts_lost[] =
    "negative counts (written as 1, because the code ran)";
// Writers of unsigned numbers write -1 as 2^64-1.
inline CoverageFinding large_count() {
  return {
      "a count does not fit in 63 bits and is read as 1: the code ran, but how often is not known",
      "large counts"};
}

// Composes one sentence that names the functions whose counts contradict each other.
class InexactFunctions {
public:
  // `calls_exec`: exec() lets the counters be written in the middle of the function.
  void add(std::string_view name, std::string_view path, uint32_t line, bool calls_exec = false) {
    calling_exec_ += calls_exec;
    if (++count_ <= most_names)
      names_ += fmt::format("{}{} ({}:{})", count_ > 1 ? ", " : "", demangled(name), path, line);
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    const size_t more = count_ - std::min(count_, most_names);
    return fmt::format(
        "negative counts in {} function{}, whose counts are not exact: {}{}; lines with a negative "
        "count are reported as run. {}",
        count_, count_ == 1 ? "" : "s", names_, more > 0 ? fmt::format(", and {} more", more) : "",
        calling_exec_ == count_
            ? "exec() leaves such counts, because it writes the counters in the middle of a "
              "function"
            : "Threads that count without -fprofile-update=atomic leave such counts, as do exec(), "
              "longjmp() and, with Clang, exceptions");
  }

private:
  static constexpr size_t most_names = 10;
  size_t count_ = 0, calling_exec_ = 0;
  std::string names_;
};

// Returns the message for a `line` that has a count although the source has only `lines` lines.
inline std::string beyond_the_end(uint32_t line, size_t lines) {
  return fmt::format(
      "line {} is counted, but the source ends with line {}: it was changed after it "
      "was compiled, or the compiler names a wrong line",
      line, lines);
}

inline CoverageFinding no_line_0() { return {"line 0 does not exist and is left out", "line 0"}; }
inline CoverageFinding end_before_begin() {
  return {"a function ends before it begins; its end is left out", "ends of functions"};
}

// Clang's MC/DC has one outcome for a term, and most formats have two.
inline ConditionCoverage as_condition(const McdcCoverage &decision) {
  return {decision.terms, decision.covered, decision.covered};
}

constexpr uint32_t most_terms = 64; // maximum of ConditionCoverage::terms
inline CoverageFinding too_many_terms() {
  return {fmt::format("a condition of more than {} terms is left out", most_terms),
          "large conditions"};
}

} // namespace tally
