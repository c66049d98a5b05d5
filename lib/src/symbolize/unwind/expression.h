// Evaluates DWARF expressions (DWARF 5, section 2.5) as far as call frame information uses them
// (section 6.4.2). Operations for locations, types and calls are not supported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <elfutils/libdw.h>

namespace tally::symbolize {

struct ExpressionInput {
  // If one of these returns nothing, the value is unknown, and so is the result.
  std::function<std::optional<uint64_t>(uint64_t number)> register_value;
  std::function<std::optional<uint64_t>(uint64_t address)> word_at;
  std::optional<uint64_t> cfa; // the value that DW_OP_call_frame_cfa pushes
  // The number of operations that all expressions of a chain together may still execute; null means
  // no limit.
  uint32_t *budget = nullptr;
};

// Returns the word on top of the stack at the end, or nothing if an input is unknown or the
// expression is invalid.
std::optional<uint64_t> evaluate(std::span<const Dwarf_Op> ops, const ExpressionInput &input);

} // namespace tally::symbolize
