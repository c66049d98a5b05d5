#include <tally/merge.h>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "support/checked.h"

namespace tally {

namespace {

// Valgrind's, in the order in which Callgrind writes them.
constexpr std::array<std::string_view, 26> valgrind_events{
    "Ir",   "Dr",      "Dw",      "I1mr",    "D1mr",    "D1mw",  "ILmr",     "DLmr",   "DLmw",
    "I2mr", "D2mr",    "D2mw",    "ILdmr",   "DLdmr",   "DLdmw", "Bc",       "Bcm",    "Bi",
    "Bim",  "AcCost1", "SpLoss1", "AcCost2", "SpLoss2", "Ge",    "sysCount", "sysTime"};

std::string positions_of(const CostProfile &p) {
  std::string words = fmt::format("{}{}{}", p.has_addresses ? "instr " : "",
                                  p.has_basic_blocks ? "bb " : "", p.has_lines ? "line " : "");
  words.resize(words.empty() ? 0 : words.size() - 1);
  return words;
}

Result<void> check_positions(std::span<const CostProfile *const> profiles,
                             std::span<const std::string> names) {
  const std::string first = positions_of(*profiles[0]);
  for (size_t i = 1; i < profiles.size(); ++i)
    if (const std::string other = positions_of(*profiles[i]); other != first)
      return fail(ErrorCode::invalid_input,
                  fmt::format("its positions are '{}', but those of {} are '{}': they cannot be "
                              "added up",
                              other, names.empty() ? "the first" : names[0], first),
                  names.empty() ? std::string() : names[i]);
  return {};
}

class Sum {
public:
  Sum(std::span<const CostProfile *const> inputs, bool keep_parts)
      : inputs_(inputs), keep_parts_(keep_parts) {}

  Result<CostProfile> run() {
    out_.set_positions(inputs_[0]->has_addresses, inputs_[0]->has_lines,
                       inputs_[0]->has_basic_blocks);
    unite_events();
    TALLY_CHECK(add_parts());
    number_names();
    group_blocks();
    for (const Group &group : groups_)
      if (auto added = add_group(group); !added)
        return fail(added.error());
    add_inclusive();
    return out_.finish();
  }

private:
  struct Input {
    std::vector<uint32_t> columns; // of its events in the sum
    std::vector<FileId> files;     // by its own ids; none: no row needs it
    std::vector<CostFunctionId> functions;
  };
  struct Source {
    uint32_t input;
    BlockId block;
  };
  struct Group { // blocks that become one
    CostPartId part;
    CostFunctionId function;
    bool other_file; // than the function's
    FileId file;
    std::vector<Source> sources;
    auto key() const { return std::tie(part, function, other_file, file); }
  };

  void unite_events();
  void describe_events();
  Result<void> add_parts();
  void number_names();
  void group_blocks();
  void add_inclusive();
  Result<void> add_group(const Group &group);
  Result<void> add_costs(const Group &group);
  Result<void> add_calls(const Group &group);
  Result<void> add_jumps(const Group &group);
  std::string_view text(uint32_t input, StringId id) const { return inputs_[input]->strings[id]; }
  void row_of(const CostTable &table, uint32_t input, uint32_t row);
  Result<void> add_row();

  static tl::unexpected<Error> overflow() {
    return fail(ErrorCode::overflow, "costs add up to more than 64 bits hold");
  }

  std::span<const CostProfile *const> inputs_;
  bool keep_parts_;
  std::vector<Input> maps_{inputs_.size()};
  CostProfileBuilder out_;
  std::vector<std::string_view> events_;
  std::vector<Group> groups_;
  std::vector<uint64_t> row_, sum_, narrow_;

  struct CostRow {
    CostPosition at;
    uint32_t input, row;
  };
  struct CallRow {
    CostCall call;
    uint32_t input, row;
    auto key() const { return std::tie(call.from, call.callee, call.target); }
  };
  std::vector<CostRow> costs_;
  std::vector<CallRow> calls_;
  std::vector<CostJump> jumps_;
};

void Sum::unite_events() {
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
    std::ranges::sort(events_, {}, [](std::string_view name) {
      const auto at = std::ranges::find(valgrind_events, name);
      return std::pair(at - valgrind_events.begin(), name);
    });
  for (std::string_view name : events_)
    out_.add_event(name);
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    for (const CostEvent &event : inputs_[i]->events())
      maps_[i].columns.push_back(
          static_cast<uint32_t>(std::ranges::find(events_, text(i, event.name)) - events_.begin()));
  describe_events();
}

// Where they are described in two ways, the text that sorts first: it must not depend on the order.
void Sum::describe_events() {
  std::vector<std::array<std::string_view, 3>> derived;
  const auto first = [](std::string_view a, std::string_view b) {
    return a.empty() ? b : b.empty() ? a : std::min(a, b);
  };
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    for (const auto &events : {inputs_[i]->events(), inputs_[i]->derived_events()})
      for (const CostEvent &event : events) {
        const std::string_view name = text(i, event.name), long_name = text(i, event.long_name),
                               formula = text(i, event.formula);
        if (long_name.empty() && formula.empty() &&
            std::ranges::find(events_, name) != events_.end())
          continue;
        auto at = std::ranges::find(derived, name, [](const auto &each) { return each[0]; });
        if (at == derived.end())
          derived.push_back({name, long_name, formula});
        else
          *at = {name, first((*at)[1], long_name), first((*at)[2], formula)};
      }
  if (inputs_.size() > 1)
    std::ranges::sort(derived);
  for (const auto &[name, long_name, formula] : derived)
    out_.describe_event(name, long_name, formula);
}

Result<void> Sum::add_parts() {
  const auto copy = [&](uint32_t input, const CostPart &from) {
    CostPart part = from;
    for (StringId *id : {&part.command, &part.trigger, &part.time_range})
      *id = out_.intern(text(input, *id));
    for (auto &[key, value] : part.descriptions) {
      key = out_.intern(text(input, key));
      value = out_.intern(text(input, value));
    }
    return part;
  };
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
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    for (uint32_t j = 0; j < inputs_[i]->parts().size(); ++j) {
      const auto id = static_cast<CostPartId>(j);
      CostPart part = copy(i, inputs_[i]->parts()[id]);
      // Told a second time: it would come back in place of the one that is dropped.
      std::erase_if(part.descriptions, [&](const auto &each) {
        const std::string_view key = out_.so_far().strings[each.first];
        return key == "Timerange" || key == "Trigger";
      });
      if (j > 0 && part.command == StringId{}) // said once a file
        part.command = copy(i, inputs_[i]->parts()[static_cast<CostPartId>(0)]).command;
      any_summary |= !part.summary.empty();
      const auto totals = inputs_[i]->totals(id);
      for (size_t e = 0; e < maps_[i].columns.size(); ++e) {
        // What a tool does not tell of, it has counted as the rows say.
        const uint64_t counted = e < part.summary.size() ? part.summary[e]
                                 : e < totals.size()     ? totals[e]
                                                         : 0;
        if (!checked_add(summary[maps_[i].columns[e]], counted))
          return overflow();
      }
      if (!all) {
        all = part;
        continue;
      }
      if (part.command != all->command)
        all->command = {};
      if (part.trigger != all->trigger)
        all->trigger = {};
      same_descriptions &= part.descriptions == all->descriptions;
      std::erase_if(all->descriptions, [&](const auto &each) {
        return std::ranges::find(part.descriptions, each) == part.descriptions.end();
      });
    }
  if (!all)
    all.emplace();
  all->number = 1;
  all->pid = all->thread = 0;
  all->time_range = {};
  all->summary = any_summary ? summary : std::vector<uint64_t>();
  if (!same_descriptions) {
    std::ranges::sort(all->descriptions, {}, [&](const auto &each) {
      return std::pair(out_.so_far().strings[each.first], out_.so_far().strings[each.second]);
    });
    const auto end = std::unique(all->descriptions.begin(), all->descriptions.end());
    all->descriptions.erase(end, all->descriptions.end());
  }
  out_.add_part(std::move(*all));
  return {};
}

// Objects, files and functions that rows need, numbered in the order of their names: from then on
// ids sort as the names do.
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
      if (block.first_cost == block.last_cost && block.first_call == block.last_call &&
          block.first_jump == block.last_jump)
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
  std::ranges::sort(files);
  for (const auto &[name, from] : files)
    maps_[from.first].files[index_of(from.second)] = out_.add_file(name);
  std::ranges::sort(functions, {},
                    [](const Function &f) { return std::tie(f.object, f.file, f.name); });
  for (const Function &f : functions)
    maps_[f.input].functions[index_of(f.id)] =
        out_.add_function(f.name, out_.add_file(f.file), out_.add_object(f.object));
}

void Sum::group_blocks() {
  std::vector<Group> all;
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    for (uint32_t b = 0; b < inputs_[i]->blocks().size(); ++b) {
      const auto id = static_cast<BlockId>(b);
      const CostBlock &block = inputs_[i]->blocks()[id];
      const CostFunctionId function = maps_[i].functions[index_of(block.function)];
      const FileId file = maps_[i].files[index_of(block.file)];
      if (block.first_cost == block.last_cost && block.first_call == block.last_call &&
          block.first_jump == block.last_jump)
        continue;
      const bool other = out_.so_far().functions()[function].file != file;
      all.push_back({keep_parts_ ? block.part : CostPartId{0}, function, other, file, {{i, id}}});
    }
  std::ranges::stable_sort(all, {}, &Group::key);
  for (Group &group : all)
    if (!groups_.empty() && groups_.back().key() == group.key())
      groups_.back().sources.push_back(group.sources.front());
    else
      groups_.push_back(std::move(group));
}

void Sum::row_of(const CostTable &table, uint32_t input, uint32_t row) {
  const auto &columns = maps_[input].columns;
  narrow_.resize(columns.size());
  table.get(row, narrow_);
  row_.assign(events_.size(), 0);
  for (size_t e = 0; e < columns.size(); ++e)
    row_[columns[e]] = narrow_[e];
}

Result<void> Sum::add_row() {
  for (size_t e = 0; e < sum_.size(); ++e)
    if (!checked_add(sum_[e], row_[e]))
      return overflow();
  return {};
}

Result<void> Sum::add_group(const Group &group) {
  out_.begin_block(group.part, group.function, group.file);
  TALLY_CHECK(add_costs(group));
  TALLY_CHECK(add_calls(group));
  return add_jumps(group);
}

Result<void> Sum::add_costs(const Group &group) {
  costs_.clear();
  for (const Source &source : group.sources) {
    const CostProfile &p = *inputs_[source.input];
    const CostBlock &block = p.blocks()[source.block];
    for (uint32_t row = block.first_cost; row < block.last_cost; ++row)
      costs_.push_back({p.cost_position(row), source.input, row});
  }
  if (!std::ranges::is_sorted(costs_, {}, &CostRow::at))
    std::ranges::sort(costs_, {}, &CostRow::at);
  for (size_t i = 0; i < costs_.size();) {
    const CostPosition at = costs_[i].at;
    sum_.assign(events_.size(), 0);
    for (; i < costs_.size() && costs_[i].at == at; ++i) {
      row_of(inputs_[costs_[i].input]->costs(), costs_[i].input, costs_[i].row);
      TALLY_CHECK(add_row());
    }
    if (out_.add_cost(at, sum_))
      return overflow();
  }
  return {};
}

Result<void> Sum::add_calls(const Group &group) {
  calls_.clear();
  for (const Source &source : group.sources) {
    const CostBlock &block = inputs_[source.input]->blocks()[source.block];
    for (uint32_t row = block.first_call; row < block.last_call; ++row) {
      CostCall call = inputs_[source.input]->call(row);
      call.callee = maps_[source.input].functions[index_of(call.callee)];
      calls_.push_back({call, source.input, row});
    }
  }
  std::ranges::sort(calls_, {}, &CallRow::key);
  for (size_t i = 0; i < calls_.size();) {
    CostCall sum = calls_[i].call;
    sum.count = 0;
    sum_.assign(events_.size(), 0);
    for (const auto key = CallRow{sum, 0, 0}; i < calls_.size() && calls_[i].key() == key.key();
         ++i) {
      row_of(inputs_[calls_[i].input]->call_costs(), calls_[i].input, calls_[i].row);
      TALLY_CHECK(add_row());
      if (!checked_add(sum.count, calls_[i].call.count))
        return fail(ErrorCode::overflow, "counts of calls add up to more than 64 bits hold");
    }
    out_.add_call(sum, sum_);
  }
  return {};
}

Result<void> Sum::add_jumps(const Group &group) {
  const auto key = [](const CostJump &jump) {
    return std::tie(jump.from, jump.target, jump.target_file, jump.target_function,
                    jump.conditional);
  };
  jumps_.clear();
  for (const Source &source : group.sources) {
    const CostBlock &block = inputs_[source.input]->blocks()[source.block];
    for (uint32_t row = block.first_jump; row < block.last_jump; ++row) {
      CostJump jump = inputs_[source.input]->jump(row);
      if (jump.target_file != none<FileId>)
        jump.target_file = maps_[source.input].files[index_of(jump.target_file)];
      if (jump.target_function != none<CostFunctionId>)
        jump.target_function = maps_[source.input].functions[index_of(jump.target_function)];
      jumps_.push_back(jump);
    }
  }
  std::ranges::sort(jumps_, {}, key);
  for (size_t i = 0; i < jumps_.size();) {
    CostJump sum = jumps_[i];
    for (++i; i < jumps_.size() && key(jumps_[i]) == key(sum); ++i)
      if (!checked_add(sum.executed, jumps_[i].executed) ||
          !checked_add(sum.followed, jumps_[i].followed))
        return fail(ErrorCode::overflow, "counts of jumps add up to more than 64 bits hold");
    out_.add_jump(sum);
  }
  return {};
}

// Known only from stacks; a sum knows it where all inputs do.
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
      for (size_t e = 0; e < from.size(); ++e) // no larger than the totals, which are checked
        sums[index_of(to) * width + maps_[i].columns[e]] += from[e];
    }
  for (uint32_t f = 0; f < out_.so_far().functions().size(); ++f)
    out_.set_inclusive(static_cast<CostFunctionId>(f), std::span(sums).subspan(f * width, width));
}

} // namespace

Result<CostProfile> canonical(const CostProfile &profile) {
  const CostProfile *one = &profile;
  return Sum(std::span(&one, 1), true).run();
}

Result<CostProfile> merge(std::span<const CostProfile *const> profiles,
                          std::span<const std::string> names) {
  if (profiles.empty())
    return fail(ErrorCode::invalid_argument, "nothing to merge");
  TALLY_CHECK(check_positions(profiles, names));
  return Sum(profiles, false).run();
}

} // namespace tally
