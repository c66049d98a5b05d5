#include "transform/sum.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/sort.h"

namespace tally {

namespace {

// Valgrind's events, in the order in which Callgrind writes them.
constexpr std::array<std::string_view, 26> valgrind_events{
    "Ir",   "Dr",      "Dw",      "I1mr",    "D1mr",    "D1mw",  "ILmr",     "DLmr",   "DLmw",
    "I2mr", "D2mr",    "D2mw",    "ILdmr",   "DLdmr",   "DLdmw", "Bc",       "Bcm",    "Bi",
    "Bim",  "AcCost1", "SpLoss1", "AcCost2", "SpLoss2", "Ge",    "sysCount", "sysTime"};

} // namespace

Result<void> Sum::begin() {
  out_.set_positions(inputs_[0]->has_addresses, inputs_[0]->has_lines,
                     inputs_[0]->has_basic_blocks);
  TALLY_CHECK(unite_events());
  TALLY_CHECK(add_parts());
  number_names();
  group_blocks();
  return {};
}

Result<const SumBlock *> Sum::next() {
  if (next_group_ == groups_.size())
    return nullptr;
  const Group &group = groups_[next_group_++];
  block_.part = group.part;
  block_.function = group.function;
  block_.file = group.file;
  sort_costs(group);
  TALLY_CHECK(sum_calls(group));
  TALLY_CHECK(sum_jumps(group));
  return &block_;
}

Result<CostProfile> Sum::finish() {
  std::vector<uint64_t> values(events_.size());
  while (true) {
    TALLY_TRY(block, next());
    if (!block)
      break;
    out_.begin_block(block->part, block->function, block->file);
    for (size_t row = 0; row < block->costs.size(); ++row) {
      if (!cost_values(row, values))
        return fail(error_);
      if (const auto event = out_.add_cost(block->costs[row], values))
        return fail(overflow(*event));
    }
    for (size_t row = 0; row < block->calls.size(); ++row) {
      if (!call_values(row, values))
        return fail(error_);
      out_.add_call(block->calls[row], values);
    }
    for (const CostJump &jump : block->jumps)
      out_.add_jump(jump);
  }
  add_inclusive();
  return out_.finish();
}

Result<void> Sum::unite_events() {
  bool same = true;
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    std::vector<std::string_view> names;
    for (const CostEvent &event : inputs_[i]->events())
      names.push_back(text(i, event.name));
    if (i == 0)
      events_ = names;
    same &= names == events_;
    if (same)
      continue;
    for (std::string_view name : names)
      if (std::ranges::find(events_, name) == events_.end())
        events_.push_back(name);
  }
  if (!same)
    sort_stably(events_, {}, [](std::string_view name) {
      const auto at = std::ranges::find(valgrind_events, name);
      return std::pair(at - valgrind_events.begin(), name);
    });
  if (events_.size() > most_cost_events)
    return fail(ErrorCode::limit, fmt::format("together they have {} events, more than {}",
                                              events_.size(), most_cost_events));
  for (std::string_view name : events_)
    out_.add_event(name);
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    auto &columns = maps_[i].columns;
    for (const CostEvent &event : inputs_[i]->events())
      columns.push_back(
          static_cast<uint32_t>(std::ranges::find(events_, text(i, event.name)) - events_.begin()));
    maps_[i].same_columns = columns.size() == events_.size() && std::ranges::is_sorted(columns);
  }
  describe_events();
  return {};
}

// Unites the descriptions of events. If inputs describe an event differently, the text that sorts
// first wins, so that the result does not depend on the order of inputs.
void Sum::describe_events() {
  std::vector<std::array<std::string_view, 3>> derived;
  std::map<std::string_view, size_t> index_of_name;
  const std::set<std::string_view> counted(events_.begin(), events_.end());
  const auto first = [](std::string_view a, std::string_view b) {
    return a.empty() ? b : b.empty() ? a : std::min(a, b);
  };
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    for (const auto &events : {inputs_[i]->events(), inputs_[i]->derived_events()})
      for (const CostEvent &event : events) {
        const std::string_view name = text(i, event.name), long_name = text(i, event.long_name),
                               formula = text(i, event.formula);
        if (long_name.empty() && formula.empty() && counted.contains(name))
          continue;
        const auto [at, added] = index_of_name.try_emplace(name, derived.size());
        if (added) {
          derived.push_back({name, long_name, formula});
          continue;
        }
        auto &known = derived[at->second];
        known = {name, first(known[1], long_name), first(known[2], formula)};
      }
  if (inputs_.size() > 1)
    sort_stably(derived);
  for (const auto &[name, long_name, formula] : derived)
    out_.describe_event(name, long_name, formula);
}

CostPart Sum::copy(uint32_t input, const CostPart &from) {
  CostPart part = from;
  for (StringId *id : {&part.command, &part.trigger, &part.time_range})
    *id = out_.intern(text(input, *id));
  for (auto &[key, value] : part.descriptions) {
    key = out_.intern(text(input, key));
    value = out_.intern(text(input, value));
  }
  return part;
}

Result<void> Sum::add_parts() {
  const auto creator = [&](uint32_t input) { return text(input, inputs_[input]->creator); };
  bool one_creator = true;
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    one_creator &= creator(i) == creator(0);
  if (one_creator)
    out_.set_creator(creator(0));
  if (keep_parts_) {
    for (const CostPart &part : inputs_[0]->parts())
      out_.add_part(copy(0, part));
    return {};
  }
  std::optional<CostPart> all;
  bool same_descriptions = true, any_summary = false;
  std::vector<uint64_t> summary(events_.size(), 0);
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    StringId command{}; // a file states it only in its first part
    for (uint32_t j = 0; j < inputs_[i]->parts().size(); ++j) {
      const auto id = static_cast<CostPartId>(j);
      any_summary |= !inputs_[i]->parts()[id].summary.empty();
      TALLY_CHECK(add_summary(i, id, summary));
      CostPart part = copy(i, inputs_[i]->parts()[id]);
      if (j == 0)
        command = part.command;
      else if (part.command == StringId{})
        part.command = command;
      // Such descriptions repeat fields that are dropped; a reader would restore the fields from
      // them.
      std::erase_if(part.descriptions, [&](const auto &each) {
        const std::string_view key = out_.so_far().strings[each.first];
        return key == "Timerange" || key == "Trigger";
      });
      if (all)
        same_descriptions &= keep_common(*all, std::move(part));
      else
        all = std::move(part);
    }
  }
  if (!all)
    all.emplace();
  all->number = 1;
  all->pid = all->thread = 0;
  all->time_range = {};
  all->summary = any_summary ? summary : std::vector<uint64_t>();
  if (!same_descriptions) {
    sort_stably(all->descriptions, {}, [&](const auto &each) {
      return std::pair(out_.so_far().strings[each.first], out_.so_far().strings[each.second]);
    });
    const auto end = std::unique(all->descriptions.begin(), all->descriptions.end());
    all->descriptions.erase(end, all->descriptions.end());
  }
  out_.add_part(std::move(*all));
  return {};
}

Result<void> Sum::add_summary(uint32_t input, CostPartId id, std::span<uint64_t> summary) const {
  const std::vector<uint64_t> &stated = inputs_[input]->parts()[id].summary;
  const auto totals = inputs_[input]->totals(id);
  const auto &columns = maps_[input].columns;
  for (size_t e = 0; e < columns.size(); ++e) {
    // If a tool does not state a total, it is the sum of the rows.
    const uint64_t counted = e < stated.size() ? stated[e] : e < totals.size() ? totals[e] : 0;
    if (!checked_add(summary[columns[e]], counted))
      return fail(overflow(columns[e]));
  }
  return {};
}

// Removes from `all` whatever differs in `part`. Returns whether the descriptions were equal.
bool Sum::keep_common(CostPart &all, CostPart part) {
  if (part.command != all.command)
    all.command = {};
  if (part.trigger != all.trigger)
    all.trigger = {};
  if (part.descriptions == all.descriptions)
    return true;
  sort_stably(part.descriptions);
  std::erase_if(all.descriptions, [&](const auto &each) {
    return !std::ranges::binary_search(part.descriptions, each);
  });
  return false;
}

// Numbers the objects, files and functions that rows need in the order of their names, so that ids
// sort as the names do.
void Sum::number_names() {
  struct Function {
    std::string_view object, file, name;
    uint32_t input;
    CostFunctionId id;
  };
  std::vector<Function> functions;
  std::vector<std::pair<std::string_view, std::pair<uint32_t, FileId>>> files;
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    const CostProfile &p = *inputs_[i];
    std::vector<bool> need_function(p.functions().size()), need_file(p.files().size());
    for (const CostBlock &block : p.blocks()) {
      if (block.empty())
        continue;
      need_function[index_of(block.function)] = need_file[index_of(block.file)] = true;
    }
    for (uint32_t row = 0; row < p.call_count(); ++row)
      need_function[index_of(p.call(row).callee)] = true;
    for (uint32_t row = 0; row < p.jump_count(); ++row) {
      const CostJump jump = p.jump(row);
      if (jump.target_function != none<CostFunctionId>)
        need_function[index_of(jump.target_function)] = true;
      if (jump.target_file != none<FileId>)
        need_file[index_of(jump.target_file)] = true;
    }
    for (uint32_t f = 0; f < need_function.size(); ++f)
      if (need_function[f]) {
        const CostFunction &function = p.functions()[static_cast<CostFunctionId>(f)];
        functions.push_back({text(i, p.objects()[function.object]),
                             text(i, p.files()[function.file]), text(i, function.name), i,
                             static_cast<CostFunctionId>(f)});
        need_file[index_of(function.file)] = true;
      }
    for (uint32_t f = 0; f < need_file.size(); ++f)
      if (need_file[f])
        files.emplace_back(text(i, p.files()[static_cast<FileId>(f)]),
                           std::pair(i, static_cast<FileId>(f)));
    maps_[i].files.assign(need_file.size(), none<FileId>);
    maps_[i].functions.assign(need_function.size(), none<CostFunctionId>);
  }
  sort_stably(files);
  for (const auto &[name, from] : files)
    maps_[from.first].files[index_of(from.second)] = out_.add_file(name);
  sort_stably(functions, {}, [](const Function &f) { return std::tie(f.object, f.file, f.name); });
  for (const Function &f : functions)
    maps_[f.input].functions[index_of(f.id)] =
        out_.add_function(f.name, out_.add_file(f.file), out_.add_object(f.object));
}

void Sum::group_blocks() {
  std::vector<Group> all;
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    for (uint32_t b = 0; b < inputs_[i]->blocks().size(); ++b) {
      const auto id = static_cast<BlockId>(b);
      const CostBlock &block = block_of({i, id});
      const CostFunctionId function = maps_[i].functions[index_of(block.function)];
      const FileId file = maps_[i].files[index_of(block.file)];
      if (block.empty())
        continue;
      const bool other = out_.so_far().functions()[function].file != file;
      all.push_back({keep_parts_ ? block.part : CostPartId{0}, function, other, file, {{i, id}}});
    }
  sort_stably(all, {}, &Group::key);
  for (Group &group : all)
    if (!groups_.empty() && groups_.back().key() == group.key())
      groups_.back().sources.push_back(group.sources.front());
    else
      groups_.push_back(std::move(group));
}

Error Sum::overflow(size_t event) const {
  return {ErrorCode::overflow,
          fmt::format("the sum of the costs of event {} exceeds 64 bits", events_[event])};
}

template <class Row>
bool Sum::values(std::span<const Row> rows, const CostTable &(CostProfile::*table)() const,
                 std::span<uint64_t> out) {
  const auto table_of = [&](const InputRow &source) -> const CostTable & {
    return (inputs_[source.input]->*table)();
  };
  const InputRow &only = rows.front().source;
  if (rows.size() == 1 && maps_[only.input].same_columns) {
    table_of(only).get(only.row, out);
    return true;
  }
  std::ranges::fill(out, 0);
  for (const Row &row : rows) {
    const auto &columns = maps_[row.source.input].columns;
    narrow_.resize(columns.size());
    table_of(row.source).get(row.source.row, narrow_);
    for (size_t e = 0; e < columns.size(); ++e)
      if (!checked_add(out[columns[e]], narrow_[e])) {
        error_ = overflow(columns[e]);
        return false;
      }
  }
  return true;
}

bool Sum::cost_values(size_t row, std::span<uint64_t> out) {
  return values(costs_.of(row), &CostProfile::costs, out);
}

bool Sum::call_values(size_t row, std::span<uint64_t> out) {
  return values(calls_.of(row), &CostProfile::call_costs, out);
}

void Sum::sort_costs(const Group &group) {
  auto &rows = costs_.rows;
  rows.clear();
  for (const Source &source : group.sources) {
    const CostBlock &block = block_of(source);
    for (uint32_t row = block.first_cost; row < block.last_cost; ++row)
      rows.push_back({inputs_[source.input]->cost_position(row), {source.input, row}});
  }
  if (!std::ranges::is_sorted(rows, {}, &CostRow::at))
    std::ranges::sort(rows, {}, &CostRow::at);
  block_.costs.clear();
  costs_.ends.clear();
  for (uint32_t i = 0; i < rows.size();) {
    const CostPosition at = rows[i].at;
    block_.costs.push_back(at);
    while (i < rows.size() && rows[i].at == at)
      ++i;
    costs_.ends.push_back(i);
  }
}

Result<void> Sum::sum_calls(const Group &group) {
  auto &rows = calls_.rows;
  rows.clear();
  for (const Source &source : group.sources) {
    const CostBlock &block = block_of(source);
    for (uint32_t row = block.first_call; row < block.last_call; ++row) {
      CostCall call = inputs_[source.input]->call(row);
      call.callee = maps_[source.input].functions[index_of(call.callee)];
      rows.push_back({call, {source.input, row}});
    }
  }
  if (!std::ranges::is_sorted(rows, {}, &CallRow::key))
    std::ranges::sort(rows, {}, &CallRow::key);
  block_.calls.clear();
  calls_.ends.clear();
  for (uint32_t i = 0; i < rows.size();) {
    const uint32_t first = i;
    CostCall sum = rows[i].call;
    for (++i; i < rows.size() && rows[i].key() == rows[first].key(); ++i)
      if (!checked_add(sum.count, rows[i].call.count))
        return fail(ErrorCode::overflow, "the sum of the counts of calls exceeds 64 bits");
    block_.calls.push_back(sum);
    calls_.ends.push_back(i);
  }
  return {};
}

Result<void> Sum::sum_jumps(const Group &group) {
  const auto key = [](const CostJump &jump) {
    return std::tie(jump.from, jump.target, jump.target_file, jump.target_function,
                    jump.conditional);
  };
  std::vector<CostJump> &jumps = block_.jumps;
  jumps.clear();
  for (const Source &source : group.sources) {
    const CostBlock &block = block_of(source);
    for (uint32_t row = block.first_jump; row < block.last_jump; ++row) {
      CostJump jump = inputs_[source.input]->jump(row);
      if (jump.target_file != none<FileId>)
        jump.target_file = maps_[source.input].files[index_of(jump.target_file)];
      if (jump.target_function != none<CostFunctionId>)
        jump.target_function = maps_[source.input].functions[index_of(jump.target_function)];
      jumps.push_back(jump);
    }
  }
  if (!std::ranges::is_sorted(jumps, {}, key))
    std::ranges::sort(jumps, {}, key);
  size_t kept = 0;
  for (size_t i = 0; i < jumps.size(); ++kept) {
    CostJump sum = jumps[i];
    for (++i; i < jumps.size() && key(jumps[i]) == key(sum); ++i)
      if (!checked_add(sum.executed, jumps[i].executed) ||
          !checked_add(sum.followed, jumps[i].followed))
        return fail(ErrorCode::overflow, "the sum of the counts of jumps exceeds 64 bits");
    jumps[kept] = sum;
  }
  jumps.resize(kept);
  return {};
}

// Only profiles that come from stacks have inclusive costs; the sum has them if all inputs have
// them.
void Sum::add_inclusive() {
  if (!std::ranges::all_of(inputs_, &CostProfile::has_inclusive))
    return;
  const size_t width = events_.size();
  std::vector<uint64_t> sums(out_.so_far().functions().size() * width, 0);
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    for (uint32_t f = 0; f < maps_[i].functions.size(); ++f) {
      const CostFunctionId to = maps_[i].functions[f];
      if (to == none<CostFunctionId>)
        continue;
      const auto from = inputs_[i]->inclusive(static_cast<CostFunctionId>(f));
      // Cannot overflow: at most the totals, which are checked.
      for (size_t e = 0; e < from.size(); ++e)
        sums[index_of(to) * width + maps_[i].columns[e]] += from[e];
    }
  for (uint32_t f = 0; f < out_.so_far().functions().size(); ++f)
    out_.set_inclusive(static_cast<CostFunctionId>(f), std::span(sums).subspan(f * width, width));
}

} // namespace tally
