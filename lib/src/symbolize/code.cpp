// Finds the code of a function in its module, and disassembles it.
#include <fmt/format.h>

#include "symbolize/disassemble.h"
#include "symbolize/module_table.h"

namespace tally::symbolize {

namespace {

// Returns whether the node is `ancestor`, or is inlined into it.
bool is_within(const UnitTables &tables, uint32_t node, uint32_t ancestor) {
  while (node != ancestor) {
    if (node >= tables.nodes.size())
      return false;
    const uint32_t parent = tables.nodes[node].parent;
    if (parent >= node) // the node has no parent, or the table is damaged
      return false;
    node = parent;
  }
  return true;
}

} // namespace

std::vector<InstructionRange> ModuleTable::code_of(uint64_t address, size_t frame) {
  open_cache();
  std::vector<InstructionRange> out = code_once(address, frame);
  if (cache_ && cache_->damaged()) {
    drop_cache();
    out = code_once(address, frame);
  }
  return out;
}

std::vector<InstructionRange> ModuleTable::code_once(uint64_t address, size_t frame) {
  std::vector<InstructionRange> out;
  if (Unit *unit = unit_at(address)) {
    const UnitTables tables = unit->built ? unit->built->tables() : unit->cached->tables;
    const auto range = row_at(tables.ranges, tables.base, address);
    uint32_t wanted = range ? range->node : no_index;
    for (size_t i = 0; i < frame && wanted < tables.nodes.size(); ++i) {
      const uint32_t parent = tables.nodes[wanted].parent;
      wanted = parent < wanted ? parent : no_index;
    }
    if (wanted < tables.nodes.size()) {
      for (size_t i = 0; i + 1 < tables.ranges.size(); ++i) {
        const RangeRow row = tables.ranges[i];
        const uint64_t start = tables.base + row.start;
        const uint64_t end = tables.base + tables.ranges[i + 1].start;
        if (start >= end || !is_within(tables, row.node, wanted))
          continue;
        if (!out.empty() && out.back().end == start)
          out.back().end = end;
        else
          out.push_back({start, end});
      }
      return out;
    }
  }
  if (frame == 0 && load_symbols())
    if (const size_t found = covering(symbols_.rows, address); found != no_index)
      out.push_back({symbols_.rows[found].low, symbols_.rows[found].high});
  return out;
}

Result<std::vector<Instruction>> ModuleTable::instructions(InstructionRange range,
                                                           DisassemblyFlavor flavor) {
  if (!open_files())
    return fail(ErrorCode::not_found, "cannot read the file, or the file was replaced",
                files_.name);
  // The last instruction may extend beyond the range; x86 has the longest instructions.
  constexpr uint64_t longest_instruction = 15;
  std::string_view bytes;
  if (range.end <= UINT64_MAX - longest_instruction)
    bytes = opened_.main->code(range.start, range.end + longest_instruction);
  if (bytes.empty())
    bytes = opened_.main->code(range.start, range.end);
  if (bytes.empty())
    return fail(ErrorCode::not_found,
                fmt::format("contains no code at [{:#x}, {:#x})", range.start, range.end),
                files_.name);
  std::vector<SourceFrame> at;
  auto out = disassemble(opened_.main->machine(), bytes, range.start, flavor, [&](uint64_t target) {
    at.clear();
    frames(target, at);
    return at.empty() ? std::string_view() : at.back().function;
  });
  if (!out) {
    out.error().source = files_.name;
    return out;
  }
  std::erase_if(*out, [&](const Instruction &each) { return each.address >= range.end; });
  return out;
}

} // namespace tally::symbolize
