#include "formats/pprof/value_types.h"

namespace tally::pprof {

uint64_t nanoseconds_of(std::string_view unit) {
  if (unit == "nanoseconds")
    return 1;
  if (unit == "microseconds")
    return 1'000;
  if (unit == "milliseconds")
    return 1'000'000;
  return unit == "seconds" ? 1'000'000'000 : 0;
}

bool ValueTypes::may_be_ticks() const {
  return types_.size() >= 2 && types_[0].type == "samples" && types_[0].unit == "count" &&
         types_[1].type == "cpu" && types_[1].unit == "nanoseconds" && period_type.type == "cpu" &&
         period_type.unit == "nanoseconds" && period > 0;
}

bool ValueTypes::add_to(StackProfileBuilder &builder, bool are_ticks) {
  if (are_ticks) {
    builder.set_period_ns(static_cast<uint64_t>(period));
    types_[0] = {"ticks", "count"};
  }
  order_.push_back(are_ticks ? 0 : shown_type());
  for (size_t i = 0; i < types_.size(); ++i)
    if (i != order_.front() && !(are_ticks && i == 1))
      order_.push_back(i);
  for (const size_t i : order_)
    builder.add_value_type(types_[i].type, types_[i].unit);
  return are_ticks || period == 0 || set_period(builder);
}

// Returns the index of the value that pprof shows by default: the default_sample_type if there is
// one, otherwise the last value.
size_t ValueTypes::shown_type() const {
  for (size_t i = 0; i < types_.size() && !shown.empty(); ++i)
    if (types_[i].type == shown)
      return i;
  return types_.back().type.empty() ? 0 : types_.size() - 1;
}

bool ValueTypes::set_period(StackProfileBuilder &builder) const {
  uint64_t period_ns = 0;
  if (types_[order_.front()].unit != "count" || period < 0 ||
      __builtin_mul_overflow(static_cast<uint64_t>(period), nanoseconds_of(period_type.unit),
                             &period_ns))
    return false;
  builder.set_period_ns(period_ns);
  return period_ns != 0;
}

} // namespace tally::pprof
