// What a DWARF expression comes to, as far as call frame information uses such (DWARF 5, 2.5 and
// 6.4.2: no locations, no types, no calls).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <elfutils/libdw.h>

namespace tally::symbolize {

struct ExpressionInput {
  // Nothing: not known, as is then the result.
  std::function<std::optional<uint64_t>(uint64_t number)> register_value;
  std::function<std::optional<uint64_t>(uint64_t address)> word_at;
  std::optional<uint64_t> cfa; // what DW_OP_call_frame_cfa pushes
  // Operations that may yet be looked at, in all expressions of a chain; null: no such bound.
  uint32_t *budget = nullptr;
};

// The word on top at the end. Nothing: an input was not known, or the expression is not one.
std::optional<uint64_t> evaluate(std::span<const Dwarf_Op> ops, const ExpressionInput &input);

} // namespace tally::symbolize
