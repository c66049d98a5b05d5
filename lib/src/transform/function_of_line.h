// Finds the function that a line belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "model/coverage.h"

namespace tally {

// Finds the innermost function that contains a line. A function whose end is unknown ends where the
// next function begins, or at the end of the enclosing function. If several functions begin at one
// line (instances), the first is used.
class FunctionOfLine {
public:
  explicit FunctionOfLine(const FileCoverage &file) : functions_(file.functions) {}

  // Returns the function of `line`, or null if there is none. Lines must be passed in ascending
  // order.
  const FunctionCoverage *operator()(uint32_t line) {
    for (; next_ < functions_.size() && functions_[next_].start_line <= line; ++next_) {
      const FunctionCoverage &function = functions_[next_];
      if (next_ > 0 && functions_[next_ - 1].start_line == function.start_line)
        continue;
      close(function.start_line);
      while (!open_.empty() && open_.back().function->end_line == 0)
        open_.pop_back();
      const uint32_t outer = open_.empty() ? UINT32_MAX : open_.back().end;
      open_.push_back({&function, function.end_line == 0 ? outer : function.end_line});
    }
    close(line);
    return open_.empty() ? nullptr : open_.back().function;
  }

private:
  struct Open {
    const FunctionCoverage *function;
    uint32_t end; // its last line
  };
  void close(uint32_t line) {
    while (!open_.empty() && open_.back().end < line)
      open_.pop_back();
  }

  const std::vector<FunctionCoverage> &functions_;
  size_t next_ = 0;
  std::vector<Open> open_;
};

} // namespace tally
