// The types of a pprof file's values, and which of them are kept.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/stack_profile.h"

namespace tally::pprof {

struct TypeText {
  std::string_view type, unit;
};

// Returns the number of nanoseconds in a unit of time, or 0 if `unit` is not a unit of time.
uint64_t nanoseconds_of(std::string_view unit);

// The types of the values that each sample has, and the period of the clock.
class ValueTypes {
public:
  void add(TypeText type) { types_.push_back(type); }
  size_t size() const { return types_.size(); }

  // Returns whether the first two values may be the ticks of one clock, as a count and as a time.
  bool may_be_ticks() const;
  bool are_ticks(std::span<const int64_t> values) const {
    int64_t time = 0;
    return values.size() >= 2 && !__builtin_mul_overflow(values[0], period, &time) &&
           time == values[1];
  }
  // Adds the types that are kept. Returns false if the period is not kept.
  bool add_to(StackProfileBuilder &builder, bool are_ticks);
  // Returns the indexes of the kept values, in the order in which they are kept.
  std::span<const size_t> order() const { return order_; }

  TypeText period_type;
  int64_t period = 0;
  std::string_view shown; // default_sample_type

private:
  size_t shown_type() const;
  bool set_period(StackProfileBuilder &builder) const;

  std::vector<TypeText> types_;
  std::vector<size_t> order_;
};

} // namespace tally::pprof
