#include "transform/stack_copier.h"

#include <tuple>

namespace tally {

namespace {

auto fields(const Mapping &m) {
  return std::tie(m.start, m.limit, m.file_offset, m.path, m.build_id, m.device, m.inode, m.bias,
                  m.has_bias);
}

// Returns the entry that holds the copy of `id`, or null if `id` is none.
template <class Id> Id *copy_of(std::vector<Id> &copies, Id id, size_t count) {
  if (id == none<Id>)
    return nullptr;
  if (copies.empty())
    copies.assign(count, none<Id>);
  return &copies[index_of(id)];
}

} // namespace

MappingId StackCopier::mapping(MappingId id) {
  MappingId *copy = copy_of(mappings_, id, from_.mappings().size());
  if (!copy || *copy != none<MappingId>)
    return copy ? *copy : id;
  // The first mapping stays the first: it is that of the program.
  if (constexpr MappingId program{0}; id != program && mappings_[0] == none<MappingId>) {
    this->mapping(program);
    copy = &mappings_[index_of(id)];
  }
  Mapping mapping = from_.mappings()[id];
  mapping.path = text(mapping.path);
  mapping.build_id = text(mapping.build_id);
  const auto &there = to_.so_far().mappings();
  for (uint32_t i = 0; i < there.size() && *copy == none<MappingId>; ++i)
    if (fields(there[static_cast<MappingId>(i)]) == fields(mapping))
      *copy = static_cast<MappingId>(i);
  if (*copy == none<MappingId>)
    *copy = to_.add_mapping(mapping);
  return *copy;
}

SourceFunctionId StackCopier::function(SourceFunctionId id) {
  SourceFunctionId *copy = copy_of(functions_, id, from_.functions().size());
  if (!copy || *copy != none<SourceFunctionId>)
    return copy ? *copy : id;
  const SourceFunction &f = from_.functions()[id];
  return *copy = to_.add_function(
             {text(f.name), text(f.system_name), text(f.file), text(f.object), f.line});
}

LocationId StackCopier::location(LocationId id) {
  LocationId *copy = copy_of(locations_, id, from_.location_count());
  if (!copy || *copy != none<LocationId>)
    return copy ? *copy : id;
  const Location at = from_.location(id);
  lines_.clear();
  for (const SourceLine &line : at.lines)
    lines_.push_back({function(line.function), text(line.file), line.line});
  return *copy = to_.add_location(mapping(at.mapping), at.address, lines_);
}

// This is iterative because a stack may be deep.
StackId StackCopier::stack(StackId id) {
  StackId callee = none<StackId>;
  path_.clear();
  for (StackId at = id; at != none<StackId>; at = from_.stack_caller(at)) {
    const StackId *copy = copy_of(stacks_, at, from_.stack_count());
    callee = *copy;
    if (callee != none<StackId>)
      break;
    path_.push_back(at);
  }
  if (callee == none<StackId>)
    callee = root_;
  for (; !path_.empty(); path_.pop_back()) {
    const StackId at = path_.back();
    callee = to_.push(callee, location(from_.stack_location(at)));
    stacks_[index_of(at)] = callee;
    copied_stacks_.push_back(at);
  }
  return callee;
}

ThreadId StackCopier::thread(ThreadId id) {
  ThreadId *copy = copy_of(threads_, id, from_.threads().size());
  if (!copy || *copy != none<ThreadId>)
    return copy ? *copy : id;
  const Thread &thread = from_.threads()[id];
  *copy = to_.add_thread(thread.pid, thread.tid, from_.strings[thread.name]);
  if (const std::string_view process = from_.strings[thread.process]; !process.empty())
    to_.set_process(*copy, process);
  return *copy;
}

void StackCopier::put_under(StackId root) {
  root_ = root;
  for (const StackId id : copied_stacks_)
    stacks_[index_of(id)] = none<StackId>;
  copied_stacks_.clear();
}

std::vector<uint32_t> copy_all_rows(const StackProfile &from, std::span<const StackId> stacks,
                                    StackCopier &copy, StackProfileBuilder &to) {
  for (uint32_t i = 0; i < from.threads().size(); ++i)
    copy.thread(static_cast<ThreadId>(i));
  std::vector<PartId> parts;
  for (Part part : from.parts()) {
    part.trigger = copy.text(part.trigger);
    parts.push_back(to.add_part(part));
  }
  std::vector<uint32_t> rows;
  for (size_t row = 0; row < from.sample_count(); ++row) {
    const Sample sample = from.sample(row);
    rows.push_back(to.add_sample(
        sample.stack == none<StackId> ? sample.stack : stacks[index_of(sample.stack)],
        copy.thread(sample.thread),
        sample.part == none<PartId> ? sample.part : parts[index_of(sample.part)], sample.values));
  }
  return rows;
}

StackProfileBuilder builder_like(const StackProfile &profile) {
  StackProfileBuilder out;
  for (const ValueType &type : profile.value_types())
    out.add_value_type(profile.strings[type.type], profile.strings[type.unit]);
  out.set_period_ns(profile.period_ns);
  out.set_command(profile.strings[profile.command]);
  return out;
}

} // namespace tally
