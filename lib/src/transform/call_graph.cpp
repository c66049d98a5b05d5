#include "transform/call_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/overflow.h"

namespace tally {

// The callees of each caller, adjacent to each other.
struct CallGraph::Arcs {
  std::vector<uint32_t> first, callee;
  std::span<const uint32_t> of(uint32_t node) const {
    return std::span(callee).subspan(first[node], first[node + 1] - first[node]);
  }
};

// Tarjan's algorithm (1972) with an explicit stack, because call chains may be deeper than the
// thread's stack allows.
void CallGraph::find_components(const Arcs &arcs) {
  const uint32_t count = size();
  constexpr uint32_t unseen = UINT32_MAX;
  std::vector<uint32_t> index(count, unseen), low(count), open, next(count);
  std::vector<uint32_t> path;
  component_.assign(count, unseen);
  cycle_of_.assign(count, no_cycle);
  uint32_t seen = 0, components = 0;
  for (uint32_t root = 0; root < count; ++root) {
    if (index[root] != unseen)
      continue;
    path.push_back(root);
    while (!path.empty()) {
      const uint32_t node = path.back();
      if (index[node] == unseen) {
        index[node] = low[node] = seen++;
        next[node] = arcs.first[node];
        open.push_back(node);
      }
      if (next[node] < arcs.first[node + 1]) {
        const uint32_t callee = arcs.callee[next[node]++];
        if (index[callee] == unseen)
          path.push_back(callee);
        else if (component_[callee] == unseen) // its component is not complete yet
          low[node] = std::min(low[node], index[callee]);
        continue;
      }
      path.pop_back();
      if (!path.empty())
        low[path.back()] = std::min(low[path.back()], low[node]);
      if (low[node] != index[node])
        continue;
      auto begin = open.end() - 1;
      while (*begin != node)
        --begin;
      if (open.end() - begin > 1) {
        for (auto at = begin; at != open.end(); ++at)
          cycle_of_[*at] = static_cast<uint32_t>(cycles_.size());
        cycles_.push_back({{begin, open.end()}, {}, {}});
      }
      for (auto at = begin; at != open.end(); ++at)
        component_[*at] = components;
      ++components;
      open.erase(begin, open.end());
    }
  }
}

Result<CallGraph> CallGraph::of(const CostProfile &profile, NodeKind kind) {
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i < profile.functions().size(); ++i)
    nodes.push_back(kind == NodeKind::function
                        ? i
                        : index_of(profile.functions()[static_cast<CostFunctionId>(i)].object));
  if (kind == NodeKind::object)
    return of_groups(profile, nodes, profile.objects().size());
  TALLY_TRY(graph, of_groups(profile, nodes, profile.functions().size()));
  if (profile.has_inclusive()) // counted once per stack, therefore exact
    for (uint32_t i = 0; i < graph.size(); ++i)
      std::ranges::copy(profile.inclusive(static_cast<CostFunctionId>(i)),
                        graph.inclusive_.begin() +
                            static_cast<std::ptrdiff_t>(size_t{i} * graph.width_));
  return graph;
}

Result<CallGraph> CallGraph::of_groups(const CostProfile &profile,
                                       std::span<const uint32_t> group_of, uint32_t count) {
  CallGraph graph;
  graph.width_ = profile.events().size();
  const auto node_of = [&](CostFunctionId function) { return group_of[index_of(function)]; };
  // A small file may name many events and functions, for which the tables would need far more
  // memory than the file has bytes.
  constexpr size_t most_cells = size_t{1} << 28;
  if (count * graph.width_ > most_cells)
    return fail(ErrorCode::limit,
                fmt::format("{} functions with {} events each are too many for a table; select one "
                            "event with --event NAME",
                            count, graph.width_));
  graph.calls_.assign(count, 0);
  graph.used_.assign(count, false);
  graph.self_.assign(count * graph.width_, 0);
  // At first only the cost that enters from other components.
  graph.inclusive_.assign(count * graph.width_, 0);
  std::vector<uint64_t> leaving(count * graph.width_, 0);

  Arcs arcs;
  arcs.first.assign(count + 1, 0);
  for (const CostBlock &block : profile.blocks())
    arcs.first[node_of(block.function) + 1] += block.last_call - block.first_call;
  for (uint32_t i = 0; i < count; ++i)
    arcs.first[i + 1] += arcs.first[i];
  arcs.callee.resize(profile.call_count());
  std::vector<uint32_t> fill(arcs.first.begin(), arcs.first.end() - 1);
  for (const CostBlock &block : profile.blocks())
    for (uint32_t i = block.first_call; i < block.last_call; ++i)
      arcs.callee[fill[node_of(block.function)]++] = node_of(profile.call(i).callee);
  graph.find_components(arcs);

  bool fits = true;
  const auto sums = [&](std::vector<uint64_t> &matrix, uint32_t node) {
    return std::span(matrix).subspan(size_t{node} * graph.width_, graph.width_);
  };
  const size_t cycle_count = graph.cycles_.size();
  std::vector<uint64_t> cycle_entering(cycle_count * graph.width_, 0),
      cycle_leaving(cycle_count * graph.width_, 0);
  for (const CostBlock &block : profile.blocks()) {
    const uint32_t from = node_of(block.function);
    graph.used_[from] = graph.used_[from] || block.first_cost != block.last_cost ||
                        block.first_call != block.last_call;
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i)
      fits &= profile.costs().add_to(i, sums(graph.self_, from));
    for (uint32_t i = block.first_call; i < block.last_call; ++i) {
      const CostCall call = profile.call(i);
      const uint32_t to = node_of(call.callee);
      graph.used_[to] = true;
      fits &= checked_add(graph.calls_[to], call.count);
      if (graph.component_[from] == graph.component_[to])
        continue;
      fits &= profile.call_costs().add_to(i, sums(graph.inclusive_, to));
      fits &= profile.call_costs().add_to(i, sums(leaving, from));
      if (graph.cycle_of_[to] != no_cycle)
        fits &= profile.call_costs().add_to(i, sums(cycle_entering, graph.cycle_of_[to]));
      if (graph.cycle_of_[from] != no_cycle)
        fits &= profile.call_costs().add_to(i, sums(cycle_leaving, graph.cycle_of_[from]));
    }
  }
  const auto larger = [&](uint64_t self, uint64_t out, uint64_t in) {
    fits &= checked_add(out, self);
    return std::max(out, in);
  };
  for (size_t i = 0; i < graph.self_.size(); ++i)
    graph.inclusive_[i] = larger(graph.self_[i], leaving[i], graph.inclusive_[i]);
  for (size_t c = 0; c < cycle_count; ++c) {
    Cycle &cycle = graph.cycles_[c];
    cycle.self.assign(graph.width_, 0);
    for (uint32_t node : cycle.nodes)
      for (size_t e = 0; e < graph.width_; ++e)
        fits &= checked_add(cycle.self[e], graph.self_[node * graph.width_ + e]);
    for (size_t e = 0; e < graph.width_; ++e)
      cycle.inclusive.push_back(larger(cycle.self[e], cycle_leaving[c * graph.width_ + e],
                                       cycle_entering[c * graph.width_ + e]));
  }
  if (!fits)
    return calls_overflow();
  return graph;
}

} // namespace tally
