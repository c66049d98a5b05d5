// Makes the call tree of costs and arcs.
#include <deque>
#include <map>

#include "report/call_layers.h"
#include "report/names.h"
#include "report/tree_builder.h"
#include "support/overflow.h"
#include "transform/call_graph.h"
#include "transform/stack_filter.h"

namespace tally {

namespace {

// The arcs from each function, or to it, with all calls of each pair of functions added up.
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
        // Cannot overflow: CallGraph has checked that the sum of all calls fits.
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

// One element of the path from a root to a node that is shown. The steps are kept in a list until
// the end. If each step owned the step before it, freeing a long path would recurse once for each
// step, and could overflow the stack.
struct Step {
  uint32_t function = 0;
  const Step *before = nullptr;
  std::vector<uint64_t> inclusive; // of the node
  bool share = false;              // true if `inclusive` is only a part of the function's cost
  bool estimated = false;          // the distribution of that part over its children is estimated
};

struct CostState {
  uint32_t function = 0;
  const Step *before = nullptr;   // the parent; null for a root
  const Arcs::Arc *arc = nullptr; // the arc that leads to it; null for a root
  const Step *step = nullptr;     // null until the node is shown
  bool recursive = false; // the function is on the path already; its callees are shown there
};

class CostTree {
public:
  using Child = TreeChild<CostState>;

  CostTree(const CostProfile &profile, CallGraph graph, const TreeOptions &options)
      : profile_(profile), graph_(std::move(graph)), arcs_(profile, options.callers),
        callers_(options.callers), full_(options.full) {}

  bool fits() const { return arcs_.fits(); }

  // Returns the roots. If the calls into a component do not account for all of its cost, its
  // heaviest function is a root with the remaining cost. An example is the first function of a
  // thread, even if other functions call it, too.
  std::vector<Child> beginnings() const {
    const size_t width = profile_.events().size();
    struct Component {
      uint32_t heaviest = UINT32_MAX;
      std::vector<uint64_t> entering;
    };
    std::map<uint32_t, Component> components;
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (!graph_.is_used(node))
        continue;
      uint32_t &heaviest = components[graph_.component_of(node)].heaviest;
      if (heaviest == UINT32_MAX || graph_.inclusive(node)[0] > graph_.inclusive(heaviest)[0])
        heaviest = node;
    }
    for (const CostBlock &block : profile_.blocks())
      for (uint32_t i = block.first_call; i < block.last_call; ++i) {
        const uint32_t to = index_of(profile_.call(i).callee);
        if (graph_.same_component(index_of(block.function), to))
          continue;
        std::vector<uint64_t> &entering = components[graph_.component_of(to)].entering;
        entering.resize(width, 0);
        // Cannot overflow: CallGraph has checked these sums.
        static_cast<void>(profile_.call_costs().add_to(i, entering));
      }
    std::vector<Child> roots;
    for (auto &[component, each] : components) {
      const uint32_t node = each.heaviest;
      if (each.entering.empty()) { // nothing calls it
        roots.push_back(root(node));
        continue;
      }
      const auto whole =
          graph_.cycle_of(node) == CallGraph::no_cycle
              ? graph_.inclusive(node)
              : std::span<const uint64_t>(graph_.cycles()[graph_.cycle_of(node)].inclusive);
      std::vector<uint64_t> uncalled;
      bool any = false;
      for (size_t e = 0; e < width; ++e) {
        const uint64_t rest = whole[e] - std::min(whole[e], each.entering[e]);
        // The function represents the whole cycle, but must not get more than its own inclusive
        // cost.
        uncalled.push_back(std::min(rest, graph_.inclusive(node)[e]));
        any |= uncalled.back() > 0;
      }
      if (any)
        roots.push_back(root(node, std::move(uncalled)));
    }
    return roots;
  }

  std::vector<Child> named(const FunctionMatcher &wanted) const {
    std::vector<Child> roots;
    for (uint32_t node = 0; node < graph_.size(); ++node)
      if (graph_.is_used(node) && wanted.matches(name_of(node)))
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

  std::vector<Child> children(const CostState &state) const {
    std::vector<Child> out;
    if (state.recursive)
      return out;
    for (const Arcs::Arc &arc : arcs_.of(state.function)) {
      bool estimated = false;
      out.push_back(
          {cost_of(*state.step, arc, 0, estimated), {arc.other, state.step, &arc, nullptr, false}});
    }
    return out;
  }

  bool folds(const CostState &state) const {
    return !full_ && is_call_layer(name_of(state.function));
  }

  TreeNode node(CostState &state) const {
    const CostFunction &f = profile_.functions()[static_cast<CostFunctionId>(state.function)];
    TreeNode node;
    node.name = profile_.strings[f.name];
    node.file = profile_.strings[profile_.files()[f.file]];
    node.object = profile_.strings[profile_.objects()[f.object]];
    if (!state.before) {
      const Step &step = *state.step;
      node.calls = step.share ? 0 : graph_.calls(state.function);
      node.inclusive = step.inclusive;
      node.estimated = step.share;
      add_self(node, state.function);
      return node;
    }
    const Step &parent = *state.before;
    const Arcs::Arc &arc = *state.arc;
    node.estimated = parent.estimated;
    node.calls = parent.share ? 0 : arc.calls;
    const auto all = graph_.inclusive(arc.other);
    bool share = false;
    for (size_t e = 0; e < all.size(); ++e) {
      node.inclusive.push_back(cost_of(parent, arc, e, node.estimated));
      share |= node.inclusive.back() != all[e];
    }
    if (callers_)
      node.self.assign(all.size(), 0);
    else
      add_self(node, arc.other);
    // A path that returns to a function stays in one component, so search only in this component.
    for (const Step *step = &parent;
         step && !state.recursive && graph_.same_component(step->function, arc.other);
         step = step->before)
      state.recursive = step->function == arc.other;
    node.recursive = state.recursive;
    // If a function has a single caller, its complete cost belongs to that caller.
    const bool one_way = callers_ && arcs_.of(arc.other).size() == 1;
    state.step = &steps_.emplace_back(
        Step{arc.other, &parent, node.inclusive, share, node.estimated || (share && !one_way)});
    return node;
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
  // Returns the cost of the calls of `arc` on the parent's path. The cost is scaled down if the
  // parent has only a share of its function's cost. It is at most the parent's cost, because calls
  // within a cycle may contain each other's costs. Sets `estimated` if that limit applies.
  uint64_t cost_of(const Step &parent, const Arcs::Arc &arc, size_t event, bool &estimated) const {
    uint64_t cost = arc.costs[event];
    if (parent.share)
      cost = scaled(cost, parent.inclusive[event], graph_.inclusive(parent.function)[event]);
    if (cost <= parent.inclusive[event])
      return cost;
    estimated = true;
    return parent.inclusive[event];
  }
  void add_self(TreeNode &node, uint32_t function) const {
    for (size_t e = 0; e < node.inclusive.size(); ++e)
      node.self.push_back(
          scaled(graph_.self(function)[e], node.inclusive[e], graph_.inclusive(function)[e]));
  }
  Child root(uint32_t node) const {
    const auto all = graph_.inclusive(node);
    return root_of(Step{node, nullptr, {all.begin(), all.end()}, false, false});
  }
  Child root(uint32_t node, std::vector<uint64_t> inclusive) const {
    return root_of(Step{node, nullptr, std::move(inclusive), true, true});
  }
  Child root_of(Step step) const {
    const Step &kept = steps_.emplace_back(std::move(step));
    return {kept.inclusive.front(), {kept.function, nullptr, nullptr, &kept, false}};
  }

  const CostProfile &profile_;
  CallGraph graph_;
  Arcs arcs_;
  bool callers_, full_;
  mutable std::deque<Step> steps_;
};

} // namespace

Result<CallTree> call_tree(const CostProfile &profile, const TreeOptions &options) {
  if (options.by)
    return fail(ErrorCode::unsupported,
                "the profile has the calls of all threads and parts together, and no stacks: "
                "select one with --thread or --part",
                "--by");
  if (options.inverted)
    return needs_stacks("--inverted");
  CallTree tree;
  for (const CostEvent &event : profile.events())
    tree.events.emplace_back(profile.strings[event.name]);
  tree.totals.assign(profile.totals().begin(), profile.totals().end());
  TALLY_TRY(graph, CallGraph::of(profile));
  const CostTree source(profile, std::move(graph), options);
  if (!source.fits())
    return calls_overflow();
  TALLY_TRY(built, build_tree<CostState>(std::move(tree), source, options));
  return with_callers(profile, options, std::move(built));
}

} // namespace tally
