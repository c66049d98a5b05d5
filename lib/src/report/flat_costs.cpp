// Makes flat tables from costs and arcs.
#include <algorithm>
#include <map>
#include <tuple>

#include "report/groups.h"
#include "report/rows.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/overflow.h"
#include "support/sort.h"
#include "transform/call_graph.h"
#include "transform/event_units.h"

namespace tally {

namespace {

std::vector<uint64_t> copy(std::span<const uint64_t> values) {
  return {values.begin(), values.end()};
}

void add_function_rows(const CostProfile &profile, const CallGraph &graph, FlatTable &table) {
  for (uint32_t node = 0; node < graph.size(); ++node) {
    if (!graph.is_used(node))
      continue;
    const CostFunction &f = profile.functions()[static_cast<CostFunctionId>(node)];
    FlatRow row;
    row.name = profile.strings[f.name];
    row.file = profile.strings[profile.files()[f.file]];
    row.object = profile.strings[profile.objects()[f.object]];
    row.self = copy(graph.self(node));
    row.inclusive = copy(graph.inclusive(node));
    row.calls = graph.calls(node);
    row.cycle = graph.cycle_of(node) + 1; // no_cycle becomes 0
    if (profile.has_exact_self())
      row.exact_self = profile.exact_self(static_cast<CostFunctionId>(node));
    table.rows.push_back(std::move(row));
  }
  for (const CallGraph::Cycle &cycle : graph.cycles()) {
    CycleRow row{{}, cycle.self, cycle.inclusive};
    for (uint32_t node : cycle.nodes)
      row.functions.emplace_back(
          profile.strings[profile.functions()[static_cast<CostFunctionId>(node)].name]);
    sort_stably(row.functions);
    table.cycles.push_back(std::move(row));
  }
}

// Sorts the cycles like the rows, by falling cost.
void sort_cycles(FlatTable &table, SortBy sort) {
  std::vector<uint32_t> order(table.cycles.size()), rank(table.cycles.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  const auto key = [&](uint32_t i) {
    const CycleRow &cycle = table.cycles[i];
    const bool by_self = sort == SortBy::self;
    return std::pair(by_self ? cycle.self[0] : cycle.inclusive[0],
                     by_self ? cycle.inclusive[0] : cycle.self[0]);
  };
  sort_stably(order, [&](uint32_t a, uint32_t b) {
    const auto left = key(a), right = key(b);
    return std::tie(right, table.cycles[a].functions) < std::tie(left, table.cycles[b].functions);
  });
  std::vector<CycleRow> sorted;
  for (uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted.push_back(std::move(table.cycles[order[i]]));
  }
  table.cycles = std::move(sorted);
  for (FlatRow &row : table.rows)
    if (row.cycle > 0)
      row.cycle = rank[row.cycle - 1] + 1;
}

// Groups of functions: objects, namespaces or directories.
struct FunctionGroups {
  std::vector<uint32_t> of;  // the group of each function
  std::vector<FlatRow> rows; // for each group, a row without costs
};

FunctionGroups groups_of(const CostProfile &profile, By by) {
  FunctionGroups out;
  std::map<std::string, uint32_t> ids;
  const auto text = [&](StringId id) { return profile.strings[id]; };
  for (const CostFunction &f : profile.functions()) {
    const bool by_object = by == By::object;
    const std::string name = by_object ? std::string(text(profile.objects()[f.object]))
                                       : group_of(by, text(f.name), text(profile.files()[f.file]));
    const auto [at, added] = ids.try_emplace(name, static_cast<uint32_t>(out.rows.size()));
    if (added)
      (by_object ? out.rows.emplace_back().object : out.rows.emplace_back().name) = name;
    out.of.push_back(at->second);
  }
  return out;
}

// Adds a row for each group of functions. Groups often call each other in cycles, for example a
// program and its libraries. In a cycle, the inclusive cost is only a lower bound; CallGraph
// explains why. The inclusive cost of the group's most expensive function is another lower bound,
// which is usually larger. The row gets the larger of both.
void add_group_rows(FunctionGroups groups, const CallGraph &graph, const CallGraph &functions,
                    FlatTable &table) {
  std::vector<uint32_t> row_of(graph.size(), UINT32_MAX);
  for (uint32_t node = 0; node < graph.size(); ++node) {
    if (!graph.is_used(node))
      continue;
    FlatRow row = std::move(groups.rows[node]);
    row_of[node] = static_cast<uint32_t>(table.rows.size());
    row.self = copy(graph.self(node));
    row.inclusive = copy(graph.inclusive(node));
    table.rows.push_back(std::move(row));
  }
  for (uint32_t f = 0; f < functions.size(); ++f) {
    const uint32_t node = groups.of[f];
    if (!functions.is_used(f) || row_of[node] == UINT32_MAX)
      continue;
    std::vector<uint64_t> &inclusive = table.rows[row_of[node]].inclusive;
    for (size_t e = 0; e < inclusive.size(); ++e)
      inclusive[e] = std::max(inclusive[e], functions.inclusive(f)[e]);
  }
}

// Adds a row for each line. The inclusive cost of a line is its self cost plus the cost of its
// calls, except the calls within the cycle of its function.
Result<void> add_line_rows(const CostProfile &profile, const CallGraph &graph, FlatTable &table) {
  struct Key {
    StringId function;
    FileId file;
    ObjectId object;
    uint32_t line;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      return combine(combine(index_of(key.function), index_of(key.file)),
                     combine(index_of(key.object), key.line));
    }
  };
  const size_t width = profile.events().size();
  std::unordered_map<Key, size_t, Hash> ids;
  bool fits = true;
  for (const CostBlock &block : profile.blocks()) {
    const CostFunction &f = profile.functions()[block.function];
    const auto row_of = [&](uint32_t line) -> FlatRow & {
      const auto [at, added] =
          ids.try_emplace({f.name, block.file, f.object, line}, table.rows.size());
      if (added) {
        FlatRow row;
        row.name = profile.strings[f.name];
        row.file = profile.strings[profile.files()[block.file]];
        row.object = profile.strings[profile.objects()[f.object]];
        row.line = line;
        row.self.assign(width, 0);
        row.inclusive.assign(width, 0);
        table.rows.push_back(std::move(row));
      }
      return table.rows[at->second];
    };
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
      FlatRow &row = row_of(profile.cost_position(i).line);
      fits &= profile.costs().add_to(i, row.self) && profile.costs().add_to(i, row.inclusive);
    }
    for (uint32_t i = block.first_call; i < block.last_call; ++i)
      if (const CostCall call = profile.call(i);
          !graph.same_component(index_of(block.function), index_of(call.callee)))
        fits &= profile.call_costs().add_to(i, row_of(call.from.line).inclusive);
  }
  if (!fits)
    return lines_overflow();
  return {};
}

// Adds the rows of parts or threads. A cost belongs to one part and one thread, so the inclusive
// cost equals the self cost.
void add_part_rows(const CostProfile &profile, By by, FlatTable &table) {
  std::map<std::pair<uint64_t, std::string>, FlatRow> rows;
  for (uint32_t i = 0; i < profile.parts().size(); ++i) {
    const CostPart &part = profile.parts()[static_cast<CostPartId>(i)];
    const bool by_part = by == By::part;
    const uint64_t id = by_part ? part.number : static_cast<uint64_t>(part.thread);
    const std::string name(by_part            ? profile.strings[part.trigger]
                           : part.thread == 0 ? std::string_view("(all threads)")
                                              : std::string_view());
    FlatRow &row = rows[{id, name}];
    row.id = id;
    row.name = name;
    row.self.resize(profile.events().size(), 0);
    const auto totals = profile.totals(static_cast<CostPartId>(i));
    for (size_t e = 0; e < totals.size(); ++e) // cannot overflow: at most the profile's totals
      row.self[e] += totals[e];
  }
  for (auto &[key, row] : rows) {
    row.inclusive = row.self;
    table.rows.push_back(std::move(row));
  }
}

// Adds the derived events. An event with an invalid formula is left out; a request for it by name
// reports the reason.
void add_derived_events(const CostProfile &profile, FlatTable &table) {
  for (const CostEvent &event : profile.derived_events()) {
    const std::string_view name = profile.strings[event.name];
    const auto weights = event_weights(profile, name);
    if (!weights)
      continue;
    uint64_t total = 0;
    bool fits = true;
    for (size_t e = 0; e < weights->size(); ++e) {
      uint64_t product = 0;
      fits &= !__builtin_mul_overflow((*weights)[e], table.totals[e], &product) &&
              checked_add(total, product);
    }
    if (fits)
      table.derived.push_back(
          {std::string(name), std::string(profile.strings[event.formula]), total});
  }
}

// Adds the units if any event is a time. Events that count share one column, with totals above.
void add_units(const CostProfile &profile, FlatTable &table) {
  std::vector<std::string> units;
  for (const CostEvent &event : profile.events())
    units.emplace_back(unit_in(profile.strings[event.long_name]));
  if (profile.derived_events().empty() && std::ranges::find(units, unit_of_times) != units.end())
    table.units = std::move(units);
}

} // namespace

Result<FlatTable> flat_table(const CostProfile &profile, By by, SortBy sort) {
  FlatTable table;
  table.by = by;
  table.has_inclusive = profile.has_call_costs;
  for (const CostEvent &event : profile.events())
    table.events.emplace_back(profile.strings[event.name]);
  add_units(profile, table);
  table.totals = copy(profile.totals());
  add_derived_events(profile, table);
  switch (by) {
  case By::function: {
    TALLY_TRY(graph, CallGraph::of(profile));
    add_function_rows(profile, graph, table);
    sort_cycles(table, sort);
    break;
  }
  case By::object:
  case By::name_space:
  case By::directory: {
    FunctionGroups groups = groups_of(profile, by);
    TALLY_TRY(graph,
              CallGraph::of_groups(profile, groups.of, static_cast<uint32_t>(groups.rows.size())));
    TALLY_TRY(functions, CallGraph::of(profile));
    add_group_rows(std::move(groups), graph, functions, table);
    break;
  }
  case By::line: {
    TALLY_TRY(graph, CallGraph::of(profile));
    TALLY_CHECK(add_line_rows(profile, graph, table));
    break;
  }
  case By::thread:
  case By::part:
    add_part_rows(profile, by, table);
    break;
  case By::process:
    return fail(ErrorCode::unsupported, "the profile does not distinguish processes", "--by");
  }
  finish_rows(table, sort);
  return table;
}

} // namespace tally
