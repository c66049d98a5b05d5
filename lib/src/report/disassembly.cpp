// Computes the costs of instructions.
#include "report/disassembly.h"

#include <algorithm>
#include <map>

#include "report/code_addresses.h"
#include "report/names.h"
#include "support/checked.h"
#include "support/overflow.h"
#include "support/sort.h"
#include "transform/stack_walk.h"

namespace tally {

namespace {

constexpr uint32_t no_row = UINT32_MAX;

// Finds the instruction that contains an address, and adds costs to it.
class InstructionCosts {
public:
  // The code must outlive this object.
  InstructionCosts(const FunctionCode &code, Symbolizer &symbolizer) {
    for (const FunctionCode::Object &object : code.objects) {
      at_.emplace(object.module, from_.size());
      from_.push_back(&object);
      first_.push_back(size_);
      size_ += static_cast<uint32_t>(object.instructions.size());
      add_object(object, symbolizer);
    }
  }

  // Returns the index of the object whose code contains the address, or nothing if none does.
  std::optional<size_t> object_of(ModuleId module, uint64_t address) const {
    const auto at = at_.find(module);
    if (at == at_.end())
      return {};
    return range_of(*from_[at->second], address) ? std::optional(at->second) : std::nullopt;
  }
  // Returns the row of the instruction that contains the address, or no_row if there is none. Rows
  // are numbered across all objects.
  uint32_t row_of(size_t object, uint64_t address) const {
    const auto &instructions = from_[object]->instructions;
    const auto after = std::ranges::upper_bound(instructions, address, {}, &Instruction::address);
    if (after == instructions.begin())
      return no_row;
    const auto at = std::prev(after);
    const InstructionRange *range = range_of(*from_[object], address);
    if (!range || at->address < range->start)
      return no_row;
    return first_[object] + static_cast<uint32_t>(at - instructions.begin());
  }
  // Adds costs to a row of an object, or to its unplaced costs if the row is no_row. `own` says
  // that the cost belongs to the function itself. Returns false if a sum exceeds 64 bits.
  bool add(size_t object, uint32_t row, uint64_t self, uint64_t inclusive, bool own) {
    Disassembly::Object &out = out_[object];
    bool fits = checked_add(out.self, self) && (!own || checked_add(out.own, self));
    if (row == no_row)
      return fits && checked_add(out.unplaced, self);
    InstructionRow &to = out.rows[row - first_[object]];
    fits &= checked_add(to.self, self) && checked_add(to.inclusive, inclusive);
    return fits;
  }

  Disassembly take(std::string_view function, const FunctionMatcher &matcher) {
    Disassembly out;
    out.function = function;
    for (Disassembly::Object &object : out_) {
      for (InstructionRow &row : object.rows)
        row.own = row.function.empty() || matcher.matches(row.function);
      out.objects.push_back(std::move(object));
    }
    sort_stably(out.objects, std::greater<>(), &Disassembly::Object::self);
    return out;
  }

private:
  static const InstructionRange *range_of(const FunctionCode::Object &object, uint64_t address) {
    const auto after =
        std::ranges::upper_bound(object.ranges, address, {}, &InstructionRange::start);
    if (after == object.ranges.begin() || address >= std::prev(after)->end)
      return nullptr;
    return &*std::prev(after);
  }

  void add_object(const FunctionCode::Object &object, Symbolizer &symbolizer) {
    Disassembly::Object &out = out_.emplace_back();
    out.path = object.path;
    out.partly = object.partly;
    out.problem = object.problem;
    const InstructionRange *range = nullptr;
    std::vector<SourceFrame> frames;
    for (const Instruction &each : object.instructions) {
      if (const InstructionRange *here = range_of(object, each.address); here != range) {
        range = here;
        out.first_rows.push_back(out.rows.size());
      }
      InstructionRow row;
      row.address = each.address + (object.run_time ? object.bias.value_or(0) : 0);
      row.text = each.text;
      frames.clear();
      if (object.module != none<ModuleId>)
        symbolizer.frames(object.module, each.address, frames);
      if (!frames.empty()) {
        row.function = frames.front().function;
        row.file = frames.front().file;
        row.line = frames.front().line;
      }
      out.rows.push_back(std::move(row));
    }
  }

  std::map<ModuleId, size_t> at_;
  std::vector<const FunctionCode::Object *> from_;
  std::vector<uint32_t> first_;
  uint32_t size_ = 0;
  std::vector<Disassembly::Object> out_;
};

struct CodeVisitor {
  struct CodeRow {
    std::optional<size_t> object;
    uint32_t row = no_row;
    bool own = false;
  };
  const StackProfile &profile;
  const StackWeights &weights;
  const std::vector<CodeRow> &rows; // by location
  InstructionCosts &costs;
  bool fits = true;
  OnPath on_path{};

  void enter(StackId node) {
    const CodeRow &at = rows[index_of(profile.stack_location(node))];
    if (!at.object)
      return;
    const bool first = at.row != no_row && on_path.enter(at.row);
    fits &= costs.add(*at.object, at.row, weights.self(node)[0], first ? weights.total(node)[0] : 0,
                      at.own);
  }
  void leave(StackId node) {
    const CodeRow &at = rows[index_of(profile.stack_location(node))];
    if (at.object && at.row != no_row)
      on_path.leave(at.row);
  }
};

} // namespace

Result<Disassembly> disassembly(const StackProfile &profile, const FunctionCode &code,
                                std::string_view function, Symbolizer &symbolizer) {
  TALLY_TRY(weights, StackWeights::of(profile));
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < profile.functions().size(); ++i)
    names.push_back(profile.strings[profile.functions()[static_cast<SourceFunctionId>(i)].name]);
  const FunctionMatcher matcher(function, names);
  Diagnostics already_reported;
  const CodeAddresses addresses(profile, symbolizer, already_reported, code.pid);
  InstructionCosts costs(code, symbolizer);
  std::vector<CodeVisitor::CodeRow> rows(profile.location_count());
  for (uint32_t i = 0; i < profile.location_count(); ++i) {
    const Location location = profile.location(static_cast<LocationId>(i));
    const CodeAddress at = addresses.of(location);
    rows[i].object = costs.object_of(at.module, at.address);
    if (!rows[i].object)
      continue;
    rows[i].row = costs.row_of(*rows[i].object, at.address);
    rows[i].own = !location.lines.empty() &&
                  matcher.matches(names[index_of(location.lines.front().function)]);
  }
  CodeVisitor visitor{profile, weights, rows, costs};
  walk_stacks(profile, weights, visitor);
  if (!visitor.fits)
    return lines_overflow();
  Disassembly out = costs.take(function, matcher);
  out.event = profile.strings[profile.value_types().front().type];
  out.total = static_cast<uint64_t>(profile.totals().front());
  out.has_inclusive = true;
  return out;
}

Result<Disassembly> disassembly(const CostProfile &profile, const FunctionCode &code,
                                std::string_view function, Symbolizer &symbolizer) {
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < profile.functions().size(); ++i)
    names.push_back(profile.strings[profile.functions()[static_cast<CostFunctionId>(i)].name]);
  const FunctionMatcher matcher(function, names);
  InstructionCosts costs(code, symbolizer);
  std::map<ObjectId, ModuleId> modules;
  Diagnostics already_reported;
  std::vector<uint64_t> row(profile.events().size());
  bool fits = true;
  for (const CostBlock &block : profile.blocks()) {
    const ObjectId object = profile.functions()[block.function].object;
    const auto [module, added] = modules.try_emplace(object);
    if (added)
      module->second = symbolizer.module(
          {std::string(profile.strings[profile.objects()[object]]), {}, 0, 0, 0}, already_reported);
    const bool own = matcher.matches(names[index_of(block.function)]);
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
      const uint64_t address = profile.cost_position(i).address;
      const auto at = costs.object_of(module->second, address);
      if (!at)
        continue;
      profile.costs().get(i, row);
      fits &= costs.add(*at, costs.row_of(*at, address), row[0], row[0], own);
    }
  }
  if (!fits)
    return lines_overflow();
  Disassembly out = costs.take(function, matcher);
  out.event = profile.strings[profile.events().front().name];
  out.total = profile.totals().front();
  return out;
}

} // namespace tally
