// Evaluates the counters of a function with Clang's source-based coverage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/llvm/coverage_mapping.h"
#include "formats/llvm/source_profile.h"

namespace tally::llvm {

// What a count may be; both are included.
struct CountRange {
  int64_t least = 0, most = 0;
};

// Evaluates one function after another, and uses its memory again. Counts may be negative, if
// counters contradict each other.
class Evaluation {
public:
  // Begins a function. Without counters, it is unknown, and all counts are 0.
  void begin(const MappedFunction &function, const CounterRecord *counters);
  // Returns nothing if a counter does not exist, or if an expression refers to itself.
  // Where threads are in the function, the result is the bounds of the count: calls that have not
  // returned may not have reached the region, or decided the branch.
  // `is_own` says that the counter is increased where this region begins.
  std::optional<CountRange> value_of_region(Counter counter, bool is_own);
  std::optional<CountRange> value_of_outcome(Counter counter); // of a branch

private:
  enum class State : uint8_t { unknown, open, known };

  std::optional<CountRange> value(Counter counter) {
    return counter.kind == Counter::Kind::expression ? expression(counter.index) : simple(counter);
  }
  std::optional<CountRange> of_returned(std::optional<CountRange> value) const;
  std::optional<CountRange> simple(Counter counter) const;
  std::optional<CountRange> expression(uint32_t index);
  std::optional<CountRange> operand(Counter counter, bool is_second_visit);

  const std::vector<Expression> *expressions_ = nullptr;
  const CounterRecord *counters_ = nullptr;
  std::vector<CountRange> values_;
  std::vector<State> states_;
  std::vector<uint32_t> stack_;
  bool failed_ = false;
};

} // namespace tally::llvm
