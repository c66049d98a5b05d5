#include "transform/function_stacks.h"

#include <vector>

namespace tally {

Result<StackProfile> function_stacks(const StackProfile &profile) {
  StackProfileBuilder out;
  const auto text = [&](StringId id) { return out.intern(profile.strings[id]); };
  for (const ValueType &type : profile.value_types())
    out.add_value_type(profile.strings[type.type], profile.strings[type.unit]);
  out.set_period_ns(profile.period_ns);
  out.set_command(profile.strings[profile.command]);
  std::vector<SourceFunctionId> functions;
  for (const SourceFunction &function : profile.functions())
    functions.push_back(
        out.add_function({text(function.name), text(function.system_name), text(function.file),
                          text(function.object), function.line}));
  std::vector<LocationId> locations;
  std::vector<SourceLine> lines;
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    lines.clear();
    for (const SourceLine &line : profile.location(static_cast<LocationId>(i)).lines)
      lines.push_back(
          {functions[index_of(line.function)], text(profile.functions()[line.function].file), 0});
    locations.push_back(out.add_location(none<MappingId>, 0, lines));
  }
  std::vector<StackId> stacks;
  for (uint32_t i = 0; i < profile.stack_count(); ++i) { // callers precede their callees
    const auto stack = static_cast<StackId>(i);
    const StackId caller = profile.stack_caller(stack);
    stacks.push_back(out.push(caller == none<StackId> ? caller : stacks[index_of(caller)],
                              locations[index_of(profile.stack_location(stack))]));
  }
  std::vector<ThreadId> threads;
  for (const Thread &thread : profile.threads()) {
    threads.push_back(out.add_thread(thread.pid, thread.tid, profile.strings[thread.name]));
    out.set_process(threads.back(), profile.strings[thread.process]);
  }
  std::vector<PartId> parts;
  for (Part part : profile.parts()) {
    part.trigger = text(part.trigger);
    parts.push_back(out.add_part(part));
  }
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    out.add_sample(
        sample.stack == none<StackId> ? sample.stack : stacks[index_of(sample.stack)],
        sample.thread == none<ThreadId> ? sample.thread : threads[index_of(sample.thread)],
        sample.part == none<PartId> ? sample.part : parts[index_of(sample.part)], sample.values);
  }
  return out.finish();
}

} // namespace tally
