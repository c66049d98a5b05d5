// The call tree of costs and arcs.
#include <deque>
#include <map>

#include <tally/call_graph.h>

#include "model/overflow.h"
#include "report/names.h"
#include "report/tree_builder.h"

namespace tally {

namespace {

constexpr uint32_t no_node = UINT32_MAX;

// Arcs from each function, or to it, with all calls of one pair added up.
class Arcs {
public:
  struct Arc {
    uint32_t other = 0;
    uint64_t calls = 0;
    std::vector<uint64_t> costs;
  };

  Arcs(const CostProfile &profile, bool callers) : of_(profile.functions().size()) {
    std::map<std::pair<uint32_t, uint32_t>, size_t> ids;
    for (const CostBlock &block : profile.blocks())
      for (uint32_t i = block.first_call; i < block.last_call; ++i) {
        const CostCall call = profile.call(i);
        uint32_t from = index_of(block.function), to = index_of(call.callee);
        if (callers)
          std::swap(from, to);
        const auto [at, added] = ids.try_emplace({from, to}, of_[from].size());
        if (added)
          of_[from].push_back({to, 0, std::vector<uint64_t>(profile.events().size(), 0)});
        Arc &arc = of_[from][at->second];
        // CallGraph has checked that all of them together fit.
        arc.calls += call.count;
        fits_ &= profile.call_costs().add_to(i, arc.costs);
      }
  }
  const std::vector<Arc> &of(uint32_t function) const { return of_[function]; }
  bool fits() const { return fits_; }

private:
  std::vector<std::vector<Arc>> of_;
  bool fits_ = true;
};

// Of the path from the root. All are kept till the end: freeing a long path step by step from its
// end would go as deep as it is long.
struct Step {
  uint32_t function = no_node;
  const Step *before = nullptr;
};

struct CostState {
  const Step *path = nullptr;
  std::vector<uint64_t> inclusive; // of the node
  bool share = false;              // of what the function costs in all
  bool estimated = false;          // how that share is spread
};

class CostTree {
public:
  using Item = TreeBuilder<CostState>::Item;

  CostTree(const CostProfile &profile, CallGraph graph, bool callers)
      : profile_(profile), graph_(std::move(graph)), arcs_(profile, callers), callers_(callers) {}

  bool fits() const { return arcs_.fits(); }

  // Of each component that nothing calls from outside, the heaviest.
  std::vector<Item> beginnings() const {
    std::map<uint32_t, uint32_t> best; // by component
    std::vector<bool> called(graph_.size());
    for (const CostBlock &block : profile_.blocks())
      for (uint32_t i = block.first_call; i < block.last_call; ++i) {
        const uint32_t to = index_of(profile_.call(i).callee);
        if (!graph_.same_component(index_of(block.function), to))
          called[graph_.component_of(to)] = true;
      }
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      const uint32_t component = graph_.component_of(node);
      if (!graph_.is_used(node) || called[component])
        continue;
      const auto [at, added] = best.try_emplace(component, node);
      if (!added && graph_.inclusive(node)[0] > graph_.inclusive(at->second)[0])
        at->second = node;
    }
    std::vector<Item> roots;
    for (const auto &[component, node] : best)
      roots.push_back(root(node));
    return roots;
  }

  std::vector<Item> named(std::string_view wanted) const {
    std::vector<Item> roots;
    for (uint32_t node = 0; node < graph_.size(); ++node)
      if (graph_.is_used(node) && is_named(name_of(node), wanted))
        roots.push_back(root(node));
    return roots;
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (uint32_t node = 0; node < graph_.size(); ++node)
      if (graph_.is_used(node))
        out.push_back(name_of(node));
    return out;
  }

  std::vector<Item> children(const CostState &state) const {
    std::vector<Item> out;
    const uint32_t from = state.path->function;
    const auto whole = graph_.inclusive(from);
    for (const Arcs::Arc &arc : arcs_.of(from)) {
      Item item = item_of(arc.other);
      item.node.estimated = state.estimated;
      item.node.calls = state.share ? 0 : arc.calls;
      bool share = false;
      for (size_t e = 0; e < whole.size(); ++e) {
        uint64_t cost = arc.costs[e];
        if (state.share)
          cost = scaled(cost, state.inclusive[e], whole[e]);
        // The costs of calls within a cycle hold each other.
        if (cost > state.inclusive[e]) {
          cost = state.inclusive[e];
          item.node.estimated = true;
        }
        item.node.inclusive.push_back(cost);
        const uint64_t all = graph_.inclusive(arc.other)[e];
        item.node.self.push_back(scaled(graph_.self(arc.other)[e], cost, all));
        share |= cost != all;
      }
      // A path that comes back stays within the component.
      for (const Step *step = state.path;
           step && !item.node.recursive && graph_.same_component(step->function, arc.other);
           step = step->before)
        item.node.recursive = step->function == arc.other;
      // All that a function with one caller costs is of that caller.
      const bool one_way = callers_ && arcs_.of(arc.other).size() == 1;
      item.state = {step_to(arc.other, state.path), item.node.inclusive, share,
                    item.node.estimated || (share && !one_way)};
      if (callers_)
        std::ranges::fill(item.node.self, 0);
      out.push_back(std::move(item));
    }
    return out;
  }

private:
  static uint64_t scaled(uint64_t cost, uint64_t part, uint64_t whole) {
    if (part >= whole)
      return cost;
    return static_cast<uint64_t>(static_cast<unsigned __int128>(cost) * part / whole);
  }
  std::string_view name_of(uint32_t node) const {
    return profile_.strings[profile_.functions()[static_cast<CostFunctionId>(node)].name];
  }
  Item item_of(uint32_t node) const {
    const CostFunction &f = profile_.functions()[static_cast<CostFunctionId>(node)];
    Item item;
    item.node.name = profile_.strings[f.name];
    item.node.file = profile_.strings[profile_.files()[f.file]];
    item.node.object = profile_.strings[profile_.objects()[f.object]];
    return item;
  }
  Item root(uint32_t node) const {
    Item item = item_of(node);
    item.node.self.assign(graph_.self(node).begin(), graph_.self(node).end());
    item.node.inclusive.assign(graph_.inclusive(node).begin(), graph_.inclusive(node).end());
    item.node.calls = graph_.calls(node);
    item.state = {step_to(node, nullptr), item.node.inclusive, false, false};
    return item;
  }

  const Step *step_to(uint32_t function, const Step *before) const {
    return &steps_.emplace_back(Step{function, before});
  }

  const CostProfile &profile_;
  CallGraph graph_;
  Arcs arcs_;
  bool callers_;
  mutable std::deque<Step> steps_;
};

} // namespace

Result<CallTree> call_tree(const CostProfile &profile, const TreeOptions &options) {
  CallTree tree;
  for (const CostEvent &event : profile.events())
    tree.events.emplace_back(profile.strings[event.name]);
  tree.totals.assign(profile.totals().begin(), profile.totals().end());
  TALLY_TRY(graph, CallGraph::of(profile));
  const CostTree source(profile, std::move(graph), options.callers);
  if (!source.fits())
    return calls_overflow();
  return build_tree<CostState>(std::move(tree), source, options);
}

} // namespace tally
