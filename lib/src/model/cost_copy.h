// Copies a CostProfile, or some of it, row by row.
#pragma once

#include <vector>

#include <tally/cost_profile.h>

namespace tally {

// The profile without some of its counted events, of which `left_out` tells the first ones.
// no_data: no event would be left.
Result<CostProfile> without_events(const CostProfile &profile, const std::vector<bool> &left_out);

// Objects, files and functions, whose ids stay as they are, and what positions and calls carry. The
// builder is new, and has its events.
inline void copy_tables(const CostProfile &from, CostProfileBuilder &out) {
  const auto text = [&](StringId id) { return from.strings[id]; };
  out.set_positions(from.has_addresses, from.has_lines, from.has_basic_blocks);
  out.set_call_costs(from.has_call_costs);
  for (StringId name : from.objects())
    out.add_object(text(name));
  for (StringId name : from.files())
    out.add_file(text(name));
  for (const CostFunction &function : from.functions())
    out.add_function(text(function.name), function.file, function.object);
}

inline CostPartId copy_part(const CostProfile &from, CostPart part, CostProfileBuilder &out) {
  const auto copied = [&](StringId id) { return out.intern(from.strings[id]); };
  part.command = copied(part.command);
  part.trigger = copied(part.trigger);
  part.time_range = copied(part.time_range);
  for (auto &[name, text] : part.descriptions) {
    name = copied(name);
    text = copied(text);
  }
  return out.add_part(std::move(part));
}

// `parts`: what each has become, none: its rows are left out. `costs` and `call_costs` give the new
// costs of a row.
template <class Costs, class CallCosts>
void copy_blocks(const CostProfile &from, CostProfileBuilder &out,
                 const std::vector<CostPartId> &parts, Costs costs, CallCosts call_costs) {
  for (const CostBlock &block : from.blocks()) {
    const CostPartId part = parts[index_of(block.part)];
    if (part == none<CostPartId>)
      continue;
    out.begin_block(part, block.function, block.file);
    for (uint32_t row = block.first_cost; row < block.last_cost; ++row)
      static_cast<void>(out.add_cost(from.cost_position(row), costs(row))); // finish() tells
    for (uint32_t row = block.first_call; row < block.last_call; ++row)
      out.add_call(from.call(row), call_costs(row));
    for (uint32_t row = block.first_jump; row < block.last_jump; ++row)
      out.add_jump(from.jump(row));
  }
}

} // namespace tally
