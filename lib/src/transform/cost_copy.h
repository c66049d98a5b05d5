// Copies a CostProfile, or a part of it, row by row.
#pragma once

#include <vector>

#include "model/cost_profile.h"

namespace tally {

// Returns the profile without those of its counted events that `left_out` flags; events beyond the
// end of `left_out` are kept. Fails with no_data if no event is left.
Result<CostProfile> without_events(const CostProfile &profile, const std::vector<bool> &left_out);

// Copies objects, files and functions, which keep their ids, and the kinds of positions and calls.
// The builder must be new except that its events have been added.
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

// Copies blocks and their rows. `parts` maps each part to its new id; rows of a part that maps to
// none are left out. `costs(row)` and `call_costs(row)` return the new costs of a row.
template <class Costs, class CallCosts>
void copy_blocks(const CostProfile &from, CostProfileBuilder &out,
                 const std::vector<CostPartId> &parts, Costs costs, CallCosts call_costs) {
  for (const CostBlock &block : from.blocks()) {
    const CostPartId part = parts[index_of(block.part)];
    if (part == none<CostPartId>)
      continue;
    out.begin_block(part, block.function, block.file);
    for (uint32_t row = block.first_cost; row < block.last_cost; ++row)
      // finish() reports errors.
      static_cast<void>(out.add_cost(from.cost_position(row), costs(row)));
    for (uint32_t row = block.first_call; row < block.last_call; ++row)
      out.add_call(from.call(row), call_costs(row));
    for (uint32_t row = block.first_jump; row < block.last_jump; ++row)
      out.add_jump(from.jump(row));
  }
}

} // namespace tally
