// Evaluates the counters of a function with Clang's source-based coverage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/llvm/coverage_mapping.h"

namespace tally::llvm {

// Evaluates one function after another, and uses its memory again.
class Evaluation {
public:
  // Begins a function. Without counts, it is unknown, and all counts are 0.
  void begin(const MappedFunction &function, std::optional<std::span<const uint64_t>> counts);
  // Returns nothing if a counter does not exist, or if an expression refers to itself.
  std::optional<uint64_t> value(Counter counter) {
    return counter.kind == Counter::Kind::expression ? expression(counter.index) : simple(counter);
  }

private:
  enum class State : uint8_t { unknown, open, known };

  std::optional<uint64_t> simple(Counter counter) const {
    if (counter.kind == Counter::Kind::zero || !counts_)
      return 0;
    return counter.index < counts_->size() ? std::optional((*counts_)[counter.index])
                                           : std::nullopt;
  }
  std::optional<uint64_t> expression(uint32_t index);
  std::optional<uint64_t> operand(Counter counter, bool is_second_visit);

  const std::vector<Expression> *expressions_ = nullptr;
  std::optional<std::span<const uint64_t>> counts_;
  std::vector<uint64_t> values_;
  std::vector<State> states_;
  std::vector<uint32_t> stack_;
  bool failed_ = false;
};

} // namespace tally::llvm
