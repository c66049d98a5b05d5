#include "transform/append.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/stack_profile.h"
#include "transform/merge.h"
#include "transform/stack_copier.h"

namespace tally {

namespace {

Result<void> append(StackProfileBuilder &to, const StackProfile &from, uint64_t shift_ns,
                    bool same_axis) {
  const auto same_types = [&] {
    const auto ours = to.so_far().value_types(), theirs = from.value_types();
    if (ours.size() != theirs.size())
      return false;
    for (size_t i = 0; i < ours.size(); ++i)
      if (to.string(ours[i].type) != from.strings[theirs[i].type] ||
          to.string(ours[i].unit) != from.strings[theirs[i].unit])
        return false;
    return true;
  };
  if (!same_types())
    return fail(ErrorCode::invalid_input, "the two profiles have different value types");
  // Ticks of different lengths are not converted: the resulting numbers would match no measurement.
  const uint64_t period = to.so_far().period_ns;
  const bool both = to.so_far().sample_count() > 0 && from.sample_count() > 0;
  if (both && period != 0 && from.period_ns != 0 && period != from.period_ns)
    return fail(
        ErrorCode::invalid_input,
        fmt::format("the two profiles were sampled at different rates: every {} ns and every "
                    "{} ns",
                    period, from.period_ns));
  if (both && from.period_ns == 0)
    to.set_period_ns(0); // unknown for some of the samples
  else if (from.sample_count() > 0)
    to.set_period_ns(both ? period : from.period_ns);

  StackCopier copy(from, to);
  const auto each = [](uint32_t count, auto take) {
    for (uint32_t i = 0; i < count; ++i)
      take(i);
  };
  // Copies everything, including entries that no sample refers to.
  each(from.mappings().size(), [&](uint32_t i) { copy.mapping(static_cast<MappingId>(i)); });
  each(from.functions().size(),
       [&](uint32_t i) { copy.function(static_cast<SourceFunctionId>(i)); });
  each(from.location_count(), [&](uint32_t i) { copy.location(static_cast<LocationId>(i)); });
  each(from.stack_count(), [&](uint32_t i) { copy.stack(static_cast<StackId>(i)); });
  each(from.threads().size(), [&](uint32_t i) { copy.thread(static_cast<ThreadId>(i)); });
  const uint32_t parts_before =
      to.so_far().parts().size() == 0
          ? 0
          : to.so_far().parts()[static_cast<PartId>(to.so_far().parts().size() - 1)].number;
  std::vector<PartId> parts;
  for (Part part : from.parts()) {
    part.number += parts_before;
    part.trigger = copy.text(part.trigger);
    part.begin_ns += shift_ns;
    part.end_ns += shift_ns;
    parts.push_back(to.add_part(part));
  }
  std::vector<uint32_t> rows;
  for (size_t row = 0; row < from.sample_count(); ++row) {
    const Sample sample = from.sample(row);
    rows.push_back(to.add_sample(
        copy.stack(sample.stack), copy.thread(sample.thread),
        sample.part == none<PartId> ? sample.part : parts[index_of(sample.part)], sample.values));
  }
  // Only a profile that comes after the other has a place on its time axis.
  const std::span<const SampleTime> earlier = to.so_far().times();
  if (both && (from.times().empty() || earlier.empty() ||
               (!same_axis && from.times().front().at_ns + shift_ns <
                                  std::ranges::max(earlier, {}, &SampleTime::at_ns).at_ns))) {
    to.drop_times();
    return {};
  }
  for (Pass pass : from.passes) {
    pass.begin_ns += shift_ns;
    pass.end_ns += shift_ns;
    to.add_pass(copy.pass(pass));
  }
  for (SampleTime time : from.times()) {
    time.at_ns += shift_ns;
    time.row = rows[time.row];
    to.add_time(time);
  }
  const uint64_t times_from = from.times_from_ns == 0 ? 0 : from.times_from_ns + shift_ns;
  if (!both)
    to.set_times_from_ns(times_from);
  else if (same_axis)
    to.set_times_from_ns(std::max(times_from, to.so_far().times_from_ns));
  return {};
}

} // namespace

Result<void> append_stacks(StackProfileBuilder &to, const StackProfile &from, uint64_t shift_ns) {
  return append(to, from, shift_ns, false);
}

Result<void> append_same_axis(StackProfileBuilder &to, const StackProfile &from) {
  TALLY_CHECK(append(to, from, 0, true));
  to.sort_parts();
  return {};
}

} // namespace tally
