#include <numeric>

#include <gtest/gtest.h>

#include "random_profile.h"
#include "transform/call_graph.h"

namespace tally::transform_call_graph_test {
namespace {

// Builds a profile of functions with one event.
class Graph {
public:
  Graph() {
    builder_.add_event("A");
    part_ = builder_.add_part({});
    file_ = builder_.add_file("a");
  }
  CostFunctionId add(const std::string &name, uint64_t self, const std::string &object = "") {
    const CostFunctionId id = builder_.add_function(name, file_, builder_.add_object(object));
    builder_.begin_block(part_, id, file_);
    builder_.add_cost({0, 1}, Costs{self});
    return id;
  }
  void call(CostFunctionId from, CostFunctionId to, uint64_t count, uint64_t cost) {
    builder_.begin_block(part_, from, file_);
    builder_.add_call({{0, 2}, to, {0, 1}, count}, Costs{cost});
  }
  CostProfile finish() {
    auto profile = builder_.finish();
    EXPECT_TRUE(profile) << profile.error().text();
    return std::move(*profile);
  }
  CallGraph graph(NodeKind kind = NodeKind::function) {
    auto graph = CallGraph::of(finish(), kind);
    EXPECT_TRUE(graph) << graph.error().text();
    return std::move(*graph);
  }

private:
  CostProfileBuilder builder_;
  CostPartId part_{};
  FileId file_{};
};

uint64_t inclusive(const CallGraph &graph, CostFunctionId id) {
  return graph.inclusive(index_of(id))[0];
}

TEST(CallGraph, SumsWithoutRecursion) {
  Graph g;
  const auto main = g.add("main", 1), f = g.add("f", 2), leaf = g.add("leaf", 4),
             idle = g.add("idle", 0);
  g.call(main, f, 1, 5);
  g.call(main, leaf, 2, 1);
  g.call(f, leaf, 3, 3);
  const CallGraph graph = g.graph();
  EXPECT_EQ(inclusive(graph, main), 7u);
  EXPECT_EQ(inclusive(graph, f), 5u);
  EXPECT_EQ(inclusive(graph, leaf), 4u);
  EXPECT_EQ(graph.calls(index_of(leaf)), 5u);
  EXPECT_EQ(graph.calls(index_of(main)), 0u);
  EXPECT_TRUE(graph.is_used(index_of(idle)));
  EXPECT_TRUE(graph.cycles().empty());
  EXPECT_FALSE(graph.same_component(index_of(main), index_of(f)));
}

TEST(CallGraph, CountsDirectRecursionOnce) {
  Graph g;
  const auto main = g.add("main", 1), f = g.add("f", 10);
  g.call(main, f, 1, 10);
  g.call(f, f, 5, 30);
  const CallGraph graph = g.graph();
  EXPECT_EQ(inclusive(graph, f), 10u);
  EXPECT_EQ(inclusive(graph, main), 11u);
  EXPECT_EQ(graph.calls(index_of(f)), 6u);
  EXPECT_TRUE(graph.cycles().empty()); // a cycle has two nodes or more
}

TEST(CallGraph, FindsFunctionsThatCallEachOther) {
  Graph g;
  const auto main = g.add("main", 1), even = g.add("even", 4), odd = g.add("odd", 6);
  g.call(main, even, 1, 10);
  g.call(even, odd, 10, 50);
  g.call(odd, even, 9, 46);
  const CallGraph graph = g.graph();
  EXPECT_EQ(inclusive(graph, main), 11u);
  EXPECT_EQ(inclusive(graph, even), 10u); // the cost of the calls that enter it
  EXPECT_EQ(inclusive(graph, odd), 6u);   // its self cost: nothing enters it from outside
  EXPECT_EQ(graph.calls(index_of(even)), 10u);
  ASSERT_EQ(graph.cycles().size(), 1u);
  EXPECT_EQ(graph.cycles()[0].nodes.size(), 2u);
  EXPECT_EQ(graph.cycles()[0].self, Costs{10});
  EXPECT_EQ(graph.cycles()[0].inclusive, Costs{10});
  EXPECT_EQ(graph.cycle_of(index_of(even)), 0u);
  EXPECT_EQ(graph.cycle_of(index_of(odd)), 0u);
  EXPECT_EQ(graph.cycle_of(index_of(main)), CallGraph::no_cycle);
}

TEST(CallGraph, SplitsACycleEnteredAtTwoFunctions) {
  Graph g;
  const auto main = g.add("main", 0), a = g.add("a", 5), b = g.add("b", 5), leaf = g.add("leaf", 2);
  g.call(main, a, 1, 7);
  g.call(main, b, 1, 5);
  g.call(a, b, 3, 20);
  g.call(b, a, 3, 20);
  g.call(a, leaf, 1, 2);
  const CallGraph graph = g.graph();
  EXPECT_EQ(inclusive(graph, main), 12u);
  EXPECT_EQ(inclusive(graph, a), 7u);
  EXPECT_EQ(inclusive(graph, b), 5u);
  ASSERT_EQ(graph.cycles().size(), 1u);
  EXPECT_EQ(graph.cycles()[0].inclusive, Costs{12});
}

// Incomplete data: calls whose cost is too low, and calls of functions whose costs are missing.
TEST(CallGraph, UsesTheLargerOfIncomingAndOutgoingCosts) {
  Graph g;
  const auto main = g.add("main", 1), cut = g.add("cut", 6), leaf = g.add("leaf", 4),
             bare = g.add("bare", 0);
  g.call(main, cut, 1, 2); // but it costs 6 + 4
  g.call(cut, leaf, 1, 4);
  g.call(main, bare, 1, 9); // but the costs of its own are unknown
  const CallGraph graph = g.graph();
  EXPECT_EQ(inclusive(graph, cut), 10u);
  EXPECT_EQ(inclusive(graph, bare), 9u);
  EXPECT_EQ(inclusive(graph, main), 12u);
}

TEST(CallGraph, FindsCyclesOfObjects) {
  Graph g;
  const auto main = g.add("main", 2, "program"), compare = g.add("compare", 3, "program"),
             sort = g.add("sort", 5, "library"), write = g.add("write", 1, "other");
  g.call(main, sort, 1, 9);
  g.call(sort, compare, 4, 4);
  g.call(main, compare, 1, 0);
  g.call(compare, write, 1, 1);
  const CostProfile profile = g.finish();
  const auto functions = CallGraph::of(profile);
  ASSERT_TRUE(functions);
  EXPECT_EQ(inclusive(*functions, sort), 9u);
  EXPECT_EQ(inclusive(*functions, main), 11u);
  EXPECT_TRUE(functions->cycles().empty());
  const auto objects = CallGraph::of(profile, NodeKind::object);
  ASSERT_TRUE(objects);
  const auto node = [&](CostFunctionId f) { return index_of(profile.functions()[f].object); };
  EXPECT_EQ(objects->inclusive(node(main))[0], 6u); // 5 of its own, 1 for the call that leaves
  EXPECT_EQ(objects->inclusive(node(sort))[0], 5u);
  EXPECT_EQ(objects->inclusive(node(write))[0], 1u);
  ASSERT_EQ(objects->cycles().size(), 1u);
  EXPECT_EQ(objects->cycles()[0].self, Costs{10});
  EXPECT_EQ(objects->cycles()[0].inclusive, Costs{11});
}

TEST(CallGraph, FunctionsWithoutCostsAreNotUsed) {
  CostProfileBuilder builder;
  builder.add_event("A");
  const FileId file = builder.add_file("a");
  builder.add_function("f", file, builder.add_object(""));
  const auto graph = CallGraph::of(*builder.finish());
  ASSERT_TRUE(graph);
  EXPECT_FALSE(graph->is_used(0));
}

TEST(CallGraph, RefusesSumsThatDoNotFit) {
  Graph g;
  const auto main = g.add("main", 1), f = g.add("f", 1);
  g.call(main, f, 1, ~uint64_t{0});
  const auto graph = CallGraph::of(g.finish());
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::overflow);
}

TEST(CallGraph, AllowsLongChains) {
  Graph g;
  constexpr uint32_t length = rounds(200'000);
  std::vector<CostFunctionId> chain;
  for (uint32_t i = 0; i < length; ++i)
    chain.push_back(g.add(std::to_string(i), 1));
  for (uint32_t i = 0; i + 1 < length; ++i)
    g.call(chain[i], chain[i + 1], 1, length - 1 - i);
  const CallGraph graph = g.graph();
  EXPECT_EQ(inclusive(graph, chain[0]), length);
}

// Simulates a program that runs: a tree of calls, each with its cost, as a profiler records it.
class Calls {
public:
  explicit Calls(Random &random) : random_(random) {}
  // Returns the cost of the call.
  uint64_t call(uint32_t function, int depth) {
    const uint64_t own = pick(random_, 4);
    self[function] += own;
    const bool outermost = ++active_[function] == 1;
    uint64_t cost = own;
    for (uint64_t calls = depth > 0 ? pick(random_, 4) : 0; calls > 0; --calls) {
      const auto callee = static_cast<uint32_t>(pick(random_, 7));
      const uint64_t more = call(callee, depth - 1);
      auto &[count, sum] = arcs[{function, callee}];
      ++count;
      sum += more;
      cost += more;
    }
    --active_[function];
    if (outermost)
      truth[function] += cost;
    return cost;
  }

  std::map<uint32_t, uint64_t> self, truth; // truth: inclusive, counted once in recursion
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, uint64_t>> arcs;

private:
  Random &random_;
  std::map<uint32_t, int> active_;
};

TEST(CallGraph, InclusiveIsBetweenSelfAndTheExactCost) {
  Random random(95);
  int exact = 0;
  for (int round = 0; round < rounds(1000); ++round) {
    Calls run(random);
    const uint64_t total = run.call(0, static_cast<int>(pick(random, 5)));
    Graph g;
    std::map<uint32_t, CostFunctionId> ids;
    for (const auto &[function, cost] : run.self)
      ids[function] = g.add(std::to_string(function), cost);
    for (const auto &[arc, row] : run.arcs)
      g.call(ids[arc.first], ids[arc.second], row.first, row.second);
    const CallGraph graph = g.graph();
    for (const auto &[function, truth] : run.truth) {
      const uint64_t shown = inclusive(graph, ids[function]);
      ASSERT_GE(shown, run.self[function]);
      ASSERT_LE(shown, truth);
      ASSERT_LE(truth, total);
      if (graph.cycle_of(index_of(ids[function])) == CallGraph::no_cycle) {
        ASSERT_EQ(shown, truth);
        ++exact;
      }
    }
    for (const CallGraph::Cycle &cycle : graph.cycles())
      ASSERT_LE(cycle.inclusive[0], total);
  }
  EXPECT_GT(exact, rounds(500));
}

} // namespace
} // namespace tally::transform_call_graph_test
