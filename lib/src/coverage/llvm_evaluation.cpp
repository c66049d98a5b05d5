#include "coverage/llvm_evaluation.h"

#include <algorithm>

namespace tally::llvm {

namespace {

// Both stop at the largest and the smallest number.
int64_t sum_of(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? (a < 0 ? INT64_MIN : INT64_MAX) : out;
}
int64_t difference_of(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_sub_overflow(a, b, &out) ? (a < 0 ? INT64_MIN : INT64_MAX) : out;
}

} // namespace

void Evaluation::begin(const MappedFunction &function, const CounterRecord *counters) {
  expressions_ = &function.expressions;
  counters_ = counters;
  values_.resize(expressions_->size());
  states_.assign(expressions_->size(), State::unknown);
  failed_ = false;
}

std::optional<CountRange> Evaluation::simple(Counter counter) const {
  if (counter.kind == Counter::Kind::zero || !counters_)
    return CountRange();
  if (counter.index >= counters_->counts.size())
    return std::nullopt;
  // A sum of profiles may have stopped at the largest number.
  const auto count =
      static_cast<int64_t>(std::min<uint64_t>(counters_->counts[counter.index], INT64_MAX));
  const std::vector<uint32_t> &next = counters_->open.next;
  if (next.empty())
    return CountRange{count, count};
  return CountRange{count, sum_of(count, std::ranges::count(next, counter.index))};
}

std::optional<CountRange> Evaluation::expression(uint32_t index) {
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
    values_[at] = expression.is_sum ? CountRange{sum_of(left->least, right->least),
                                                 sum_of(left->most, right->most)}
                                    : CountRange{difference_of(left->least, right->most),
                                                 difference_of(left->most, right->least)};
    states_[at] = State::known;
    stack_.pop_back();
  }
  return values_[index];
}

// Widens a count that is right if all calls return.
std::optional<CountRange> Evaluation::of_returned(std::optional<CountRange> value) const {
  if (value && counters_) {
    value->least = difference_of(value->least, counters_->open.frames);
    value->most = sum_of(value->most, counters_->open.frames_before);
  }
  return value;
}

// Expressions, and counters of other regions, tell how often a region is entered if all calls
// return: a loop's condition follows each pass of its body, and a branch is taken or not.
std::optional<CountRange> Evaluation::value_of_region(Counter counter, bool is_own) {
  return is_own || counter.kind == Counter::Kind::zero ? value(counter)
                                                       : of_returned(value(counter));
}

std::optional<CountRange> Evaluation::value_of_outcome(Counter counter) {
  return counter.kind == Counter::Kind::expression ? of_returned(value(counter)) : value(counter);
}

// Returns nothing if the operand must be evaluated before, and puts it on the stack.
std::optional<CountRange> Evaluation::operand(Counter counter, bool is_second_visit) {
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
