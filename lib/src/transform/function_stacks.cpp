#include "transform/function_stacks.h"

#include <vector>

#include "transform/stack_copier.h"

namespace tally {

Result<StackProfile> function_stacks(const StackProfile &profile) {
  StackProfileBuilder out = builder_like(profile);
  StackCopier copy(profile, out);
  std::vector<LocationId> locations;
  std::vector<SourceLine> lines;
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    lines.clear();
    for (const SourceLine &line : profile.location(static_cast<LocationId>(i)).lines)
      lines.push_back(
          {copy.function(line.function), copy.text(profile.functions()[line.function].file), 0});
    locations.push_back(out.add_location(none<MappingId>, 0, lines));
  }
  std::vector<StackId> stacks;
  for (uint32_t i = 0; i < profile.stack_count(); ++i) { // callers precede their callees
    const auto stack = static_cast<StackId>(i);
    const StackId caller = profile.stack_caller(stack);
    stacks.push_back(out.push(caller == none<StackId> ? caller : stacks[index_of(caller)],
                              locations[index_of(profile.stack_location(stack))]));
  }
  // All of them: the number of threads is that of the clocks, and a part without a sample is a run.
  for (uint32_t i = 0; i < profile.threads().size(); ++i)
    copy.thread(static_cast<ThreadId>(i));
  std::vector<PartId> parts;
  for (Part part : profile.parts()) {
    part.trigger = copy.text(part.trigger);
    parts.push_back(out.add_part(part));
  }
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    out.add_sample(sample.stack == none<StackId> ? sample.stack : stacks[index_of(sample.stack)],
                   copy.thread(sample.thread),
                   sample.part == none<PartId> ? sample.part : parts[index_of(sample.part)],
                   sample.values);
  }
  return out.finish();
}

} // namespace tally
