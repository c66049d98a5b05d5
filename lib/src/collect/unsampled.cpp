#include "collect/unsampled.h"

#include <algorithm>

#include "stacks/truncation_mark.h"

namespace tally {

Result<StackProfile> with_unsampled(StackProfile profile, const SamplerOptions &options,
                                    const SamplerStatus &status) {
  const bool is_of_clock = options.events.empty() || options.events.front().is_clock();
  if (!options.children || !is_of_clock || profile.sample_count() == 0)
    return profile;
  // The kernel closes the clocks of a process before it frees the memory of the process (since
  // Linux 6.16), and opens those of a thread after it has made the thread. For short processes,
  // that is a tenth of their time.
  const bool several = status.processes > 1;
  const bool has_more = status.used_ns > status.cpu_ns && (several || status.kernel_included);
  // The kernel may lose the counts of threads that did not tick.
  const bool may_lack = has_more || (options.events.empty() && !options.waits);
  if (!may_lack)
    return profile;
  const uint64_t cpu_ns =
      has_more ? status.used_ns : status.cpu_ns - std::min(status.cpu_ns, status.unsampled_ns);
  const uint64_t unit_ns = std::max<uint64_t>(1, profile.period_ns); // ticks or nanoseconds
  const auto expected = static_cast<int64_t>(cpu_ns / unit_ns);
  const int64_t outside = static_cast<int64_t>(status.outside) * (profile.period_ns == 0 ? 0 : 1);
  const int64_t amount = expected - outside - profile.totals()[0];
  // Each clock has a last, incomplete tick.
  constexpr int64_t few_ns = 5'000'000;
  const bool are_few = amount <= few_ns / static_cast<int64_t>(unit_ns) || amount <= expected / 50;
  if (amount <= 0 || (!(has_more && several) && are_few))
    return profile;
  std::vector<int64_t> values(profile.value_types().size());
  values[0] = amount;
  // It belongs to the run, which must not look shorter than others once runs are merged.
  const PartId part = profile.parts().size() == 1 ? PartId{} : none<PartId>;
  StackProfileBuilder builder(std::move(profile));
  const StringId name = builder.intern(truncation_name(unsampled_mark));
  const SourceLine line{builder.add_function({name, {}, {}, {}, 0}), {}, 0};
  builder.add_sample(
      builder.push(none<StackId>,
                   builder.add_location(none<MappingId>, unsampled_mark, std::span(&line, 1))),
      none<ThreadId>, part, values);
  return builder.finish();
}

} // namespace tally
