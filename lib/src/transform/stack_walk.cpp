#include "transform/stack_walk.h"

#include <algorithm>

#include "support/checked.h"

namespace tally {

Result<StackWeights> StackWeights::of(const StackProfile &profile, StackFilter filter) {
  StackWeights weights;
  weights.width_ = profile.value_types().size();
  const size_t width = weights.width_;
  weights.self_.assign(profile.stack_count() * width, 0);
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    if (sample.stack == none<StackId> ||
        (filter.thread != none<ThreadId> && sample.thread != filter.thread) ||
        (filter.part != none<PartId> && sample.part != filter.part))
      continue;
    for (size_t v = 0; v < width; ++v) {
      if (sample.values[v] < 0)
        return fail(ErrorCode::invalid_input, "a sample has a negative value");
      // This cannot overflow: validate() has checked the sum of all samples in 63 bits.
      weights.self_[index_of(sample.stack) * width + v] += static_cast<uint64_t>(sample.values[v]);
    }
  }
  weights.total_ = weights.self_;
  for (uint32_t i = profile.stack_count(); i-- > 0;) {
    const StackId caller = profile.stack_caller(static_cast<StackId>(i));
    if (caller == none<StackId>)
      continue;
    for (size_t v = 0; v < width; ++v)
      if (!checked_add(weights.total_[index_of(caller) * width + v], weights.total_[i * width + v]))
        return fail(ErrorCode::overflow, "the sum of the costs exceeds 64 bits");
  }
  return weights;
}

bool StackWeights::empty(StackId node) const {
  return std::ranges::all_of(total(node), [](uint64_t value) { return value == 0; });
}

} // namespace tally
