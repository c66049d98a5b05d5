#include "coverage/llvm_evaluation.h"

namespace tally::llvm {

void Evaluation::begin(const MappedFunction &function,
                       std::optional<std::span<const uint64_t>> counts) {
  expressions_ = &function.expressions;
  counts_ = counts;
  values_.resize(expressions_->size());
  states_.assign(expressions_->size(), State::unknown);
  failed_ = false;
}

std::optional<uint64_t> Evaluation::expression(uint32_t index) {
  // Expressions may be nested deeply, so that this does not recurse.
  stack_.assign(1, index);
  while (!stack_.empty()) {
    const uint32_t at = stack_.back();
    if (states_[at] == State::known) {
      stack_.pop_back();
      continue;
    }
    const Expression &expression = (*expressions_)[at];
    const bool is_second_visit = states_[at] == State::open;
    states_[at] = State::open;
    const auto left = operand(expression.left, is_second_visit);
    const auto right = operand(expression.right, is_second_visit);
    if (failed_)
      return std::nullopt;
    if (!left || !right)
      continue;
    values_[at] = expression.is_sum ? *left + *right : *left - *right; // modulo 2^64
    states_[at] = State::known;
    stack_.pop_back();
  }
  return values_[index];
}

// Returns nothing if the operand must be evaluated before, and puts it on the stack.
std::optional<uint64_t> Evaluation::operand(Counter counter, bool is_second_visit) {
  if (counter.kind != Counter::Kind::expression) {
    const auto value = simple(counter);
    failed_ |= !value;
    return value;
  }
  if (states_[counter.index] == State::known)
    return values_[counter.index];
  failed_ |= is_second_visit || states_[counter.index] == State::open;
  stack_.push_back(counter.index);
  return std::nullopt;
}

} // namespace tally::llvm
