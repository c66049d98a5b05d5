#include <tuple>

#include <fmt/format.h>

#include <tally/stack_profile.h>

namespace tally {

namespace {

auto fields(const Mapping &m) {
  return std::tie(m.start, m.limit, m.file_offset, m.path, m.build_id, m.device, m.inode, m.bias,
                  m.has_bias);
}

} // namespace

Result<void> append(StackProfileBuilder &to, const StackProfile &from, uint64_t shift_ns) {
  const auto text = [&](StringId id) { return to.intern(from.strings[id]); };
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
    return fail(ErrorCode::invalid_input, "the two profiles count different things");
  // Ticks of different lengths are not converted: the numbers would be those of no measurement.
  const uint64_t period = to.so_far().period_ns;
  const bool both = to.so_far().sample_count() > 0 && from.sample_count() > 0;
  if (both && period != 0 && from.period_ns != 0 && period != from.period_ns)
    return fail(ErrorCode::invalid_input,
                fmt::format("the two profiles were sampled at different rates: each {} ns and each "
                            "{} ns",
                            period, from.period_ns));
  if (both && from.period_ns == 0)
    to.set_period_ns(0); // not known of some
  else if (from.sample_count() > 0)
    to.set_period_ns(both ? period : from.period_ns);

  std::vector<MappingId> mappings;
  for (Mapping mapping : from.mappings()) {
    mapping.path = text(mapping.path);
    mapping.build_id = text(mapping.build_id);
    MappingId same = none<MappingId>;
    for (uint32_t i = 0; i < to.so_far().mappings().size() && same == none<MappingId>; ++i)
      if (fields(to.so_far().mappings()[static_cast<MappingId>(i)]) == fields(mapping))
        same = static_cast<MappingId>(i);
    mappings.push_back(same == none<MappingId> ? to.add_mapping(mapping) : same);
  }
  std::vector<SourceFunctionId> functions;
  for (const SourceFunction &f : from.functions())
    functions.push_back(
        to.add_function({text(f.name), text(f.system_name), text(f.file), text(f.object), f.line}));
  std::vector<LocationId> locations;
  std::vector<SourceLine> lines;
  for (uint32_t i = 0; i < from.location_count(); ++i) {
    const Location at = from.location(static_cast<LocationId>(i));
    lines.clear();
    for (const SourceLine &line : at.lines)
      lines.push_back({functions[index_of(line.function)], text(line.file), line.line});
    locations.push_back(
        to.add_location(at.mapping == none<MappingId> ? at.mapping : mappings[index_of(at.mapping)],
                        at.address, lines));
  }
  std::vector<StackId> stacks;
  for (uint32_t i = 0; i < from.stack_count(); ++i) {
    const auto id = static_cast<StackId>(i);
    const StackId caller = from.stack_caller(id);
    stacks.push_back(to.push(caller == none<StackId> ? caller : stacks[index_of(caller)],
                             locations[index_of(from.stack_location(id))]));
  }
  std::vector<ThreadId> threads;
  for (const Thread &thread : from.threads())
    threads.push_back(to.add_thread(thread.pid, thread.tid, from.strings[thread.name]));
  const uint32_t parts_before =
      to.so_far().parts().size() == 0
          ? 0
          : to.so_far().parts()[static_cast<PartId>(to.so_far().parts().size() - 1)].number;
  std::vector<PartId> parts;
  for (Part part : from.parts()) {
    part.number += parts_before;
    part.trigger = text(part.trigger);
    part.begin_ns += shift_ns;
    part.end_ns += shift_ns;
    parts.push_back(to.add_part(part));
  }
  for (size_t row = 0; row < from.sample_count(); ++row) {
    const Sample sample = from.sample(row);
    to.add_sample(
        sample.stack == none<StackId> ? sample.stack : stacks[index_of(sample.stack)],
        sample.thread == none<ThreadId> ? sample.thread : threads[index_of(sample.thread)],
        sample.part == none<PartId> ? sample.part : parts[index_of(sample.part)], sample.values);
  }
  return {};
}

} // namespace tally
