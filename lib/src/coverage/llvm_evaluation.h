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
  std::optional<CountRange> value(Counter counter);

private:
  enum class State : uint8_t { unknown, open, known };

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
