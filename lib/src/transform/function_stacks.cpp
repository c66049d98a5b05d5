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
  copy_all_rows(profile, stacks, copy, out);
  return out.finish();
}

} // namespace tally
