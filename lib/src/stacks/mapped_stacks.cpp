#include "stacks/mapped_stacks.h"

#include "model/kernel_code.h"
#include "stacks/truncation_mark.h"

namespace tally {

StackId MappedStacks::stack_of(StackProfileBuilder &builder, std::span<const uint64_t> pcs) {
  const auto stacks = previous_.values_of(
      pcs, space_.generation(), [&](uint64_t pc, std::span<const StackId> outer) {
        locations_.set_program(space_.program());
        return builder.push(outer.empty() ? none<StackId> : outer.back(),
                            locations_.of(builder, space_.find(pc), pc));
      });
  return stacks.empty() ? none<StackId> : stacks.back();
}

LocationId MappedLocations::of(StackProfileBuilder &builder, uint32_t range, uint64_t pc) {
  if (const std::string_view why = truncation_name(pc); !why.empty()) {
    const SourceLine line{builder.add_function({builder.intern(why), {}, {}, {}, 0}), {}, 0};
    return builder.add_location(none<MappingId>, pc, std::span(&line, 1));
  }
  if (is_kernel_code(pc)) {
    const SourceLine line{
        builder.add_function(
            {builder.intern(kernel_function), {}, {}, builder.intern(kernel_object), 0}),
        {},
        0};
    return builder.add_location(kernel_mapping(builder), pc, std::span(&line, 1));
  }
  if (range == AddressSpace::nowhere)
    return builder.add_location(none<MappingId>, pc);
  return builder.add_location(mapping_of(builder, range), pc);
}

// Returns the mapping that stands for the kernel; all processes of a profile share this mapping.
MappingId MappedLocations::kernel_mapping(StackProfileBuilder &builder) {
  if (kernel_ != none<MappingId>)
    return kernel_;
  begin_with_program(builder, AddressSpace::nowhere);
  const StringId path = builder.intern(kernel_object);
  const auto &there = builder.so_far().mappings();
  for (uint32_t i = 0; i < there.size(); ++i)
    if (there[static_cast<MappingId>(i)].path == path)
      return kernel_ = static_cast<MappingId>(i);
  Mapping mapping;
  mapping.start = mapping.file_offset = kernel_start;
  mapping.limit = kernel_limit;
  mapping.path = path;
  return kernel_ = builder.add_mapping(mapping);
}

// Adds the program's mapping first, because readers of pprof files expect it there.
void MappedLocations::begin_with_program(StackProfileBuilder &builder, uint32_t range) {
  if (!mappings_.empty())
    return;
  mappings_.resize(ranges_.size(), none<MappingId>);
  if (program_ != AddressSpace::nowhere && program_ != range)
    mapping_of(builder, program_);
}

MappingId MappedLocations::mapping_of(StackProfileBuilder &builder, uint32_t range) {
  if (range < mappings_.size() && mappings_[range] != none<MappingId>)
    return mappings_[range];
  begin_with_program(builder, range);
  if (range >= mappings_.size())
    mappings_.resize(ranges_.size(), none<MappingId>);
  const CodeRange &r = ranges_[range];
  Mapping mapping;
  mapping.start = r.start;
  mapping.limit = r.limit;
  mapping.file_offset = r.file_offset;
  mapping.path = builder.intern(r.path);
  mapping.build_id = builder.intern(r.build_id);
  mapping.device = r.device;
  mapping.inode = r.inode;
  return mappings_[range] = builder.add_mapping(mapping);
}

} // namespace tally
