#include "model/mapped_stacks.h"

#include "model/common_root.h"
#include "model/cut_mark.h"

namespace tally {

StackId MappedStacks::stack_of(StackProfileBuilder &builder, std::span<const uint64_t> pcs) {
  if (previous_generation_ != space_.generation()) {
    // The same address may be another place now.
    previous_generation_ = space_.generation();
    previous_pcs_.clear();
    previous_stacks_.clear();
  }
  const size_t depth = pcs.size();
  const size_t same = common_root(previous_pcs_, pcs);
  previous_pcs_.resize(same);
  previous_stacks_.resize(same);
  StackId stack = same == 0 ? none<StackId> : previous_stacks_.back();
  for (size_t i = same; i < depth; ++i) {
    const uint64_t pc = pcs[depth - 1 - i];
    stack = builder.push(stack, location_of(builder, space_.find(pc), pc));
    previous_pcs_.push_back(pc);
    previous_stacks_.push_back(stack);
  }
  return stack;
}

LocationId MappedStacks::location_of(StackProfileBuilder &builder, uint32_t range, uint64_t pc) {
  if (const std::string_view why = cut_words(pc); !why.empty()) {
    const SourceLine line{builder.add_function({builder.intern(why), {}, {}, {}, 0}), {}, 0};
    return builder.add_location(none<MappingId>, pc, std::span(&line, 1));
  }
  return builder.add_location(
      range == AddressSpace::nowhere ? none<MappingId> : mapping_of(builder, range), pc);
}

MappingId MappedStacks::mapping_of(StackProfileBuilder &builder, uint32_t range) {
  if (range < mappings_.size() && mappings_[range] != none<MappingId>)
    return mappings_[range];
  if (mappings_.empty()) {
    // The program's own mapping is a profile's first, as pprof's readers expect.
    mappings_.resize(space_.ranges().size(), none<MappingId>);
    if (space_.program() != AddressSpace::nowhere && space_.program() != range)
      mapping_of(builder, space_.program());
  }
  if (range >= mappings_.size())
    mappings_.resize(space_.ranges().size(), none<MappingId>);
  const CodeRange &r = space_.ranges()[range];
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
