// Tests flow graphs and the counts that they yield.
#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "coverage/flow_solver.h"
#include "coverage/gcov_counts.h"
#include "coverage/line_cycles.h"

namespace tally::coverage_test {
namespace {

constexpr uint32_t tree = arc_on_tree;

// Returns the graph of one function, whose entry is block 0 and whose exit is block 1.
CoverageGraph graph_of(uint32_t blocks, std::vector<GraphArc> arcs) {
  CoverageGraph graph;
  GraphFunction function;
  function.name = graph.strings.intern("f");
  function.file = graph.strings.intern("f.c");
  function.start_line = 1;
  function.end_line = 100;
  function.block_count = blocks;
  function.exit_block = 1;
  function.last_arc = static_cast<uint32_t>(arcs.size());
  graph.arcs = std::move(arcs);
  graph.functions.push(function);
  return graph;
}

FlowCounts solved(const CoverageGraph &graph, const std::vector<int64_t> &counters) {
  FlowSolver solver;
  return solver.solve(graph, graph.functions[GraphFunctionId{0}], counters);
}

using Counts = std::vector<int64_t>;

TEST(FlowSolver, SolvesABranch) {
  const auto graph = graph_of(4, {{0, 2, tree}, {2, 3, 0}, {2, 1, 0}, {3, 1, tree}});
  const FlowCounts flow = solved(graph, {5, 2});
  EXPECT_EQ(flow.arcs, (Counts{7, 5, 2, 5}));
  EXPECT_EQ(flow.blocks, (Counts{7, 7, 7, 5}));
  EXPECT_EQ(flow.unsolved, 0u);
  EXPECT_FALSE(flow.negative || flow.overflow);
}

TEST(FlowSolver, SolvesABlockWithoutPredecessors) {
  const auto graph = graph_of(5, {{0, 2, tree}, {2, 3, 0}, {3, 1, tree}, {4, 3, tree}});
  const FlowCounts flow = solved(graph, {9});
  EXPECT_EQ(flow.arcs, (Counts{9, 9, 9, 0}));
  EXPECT_EQ(flow.blocks, (Counts{9, 9, 9, 9, 0}));
}

TEST(FlowSolver, GivesABlockWithoutArcsZero) {
  const FlowCounts flow = solved(graph_of(4, {{0, 2, tree}, {2, 1, 0}}), {3});
  EXPECT_EQ(flow.blocks, (Counts{3, 3, 3, 0}));
}

TEST(FlowSolver, SolvesALoopOfOneBlock) {
  const auto graph = graph_of(3, {{0, 2, tree}, {2, 2, 0}, {2, 1, 0}});
  const FlowCounts flow = solved(graph, {40, 2});
  EXPECT_EQ(flow.arcs, (Counts{2, 40, 2}));
  EXPECT_EQ(flow.blocks, (Counts{2, 2, 42}));
}

TEST(FlowSolver, TreatsMissingCountersAsZero) {
  const auto graph = graph_of(4, {{0, 2, tree}, {2, 3, 0}, {2, 1, 0}, {3, 1, tree}});
  EXPECT_EQ(solved(graph, {5}).arcs, (Counts{5, 5, 0, 5}));
  EXPECT_EQ(solved(graph, {}).arcs, (Counts{0, 0, 0, 0}));
  EXPECT_EQ(solved(graph, {5, 2, 1000}).arcs, (Counts{7, 5, 2, 5})); // the last one is ignored
}

TEST(FlowSolver, KeepsCountersThatContradictEachOther) {
  // The tree is too small: both arcs have counters, which differ.
  const FlowCounts flow = solved(graph_of(3, {{0, 2, 0}, {2, 1, 0}}), {5, 3});
  EXPECT_EQ(flow.arcs, (Counts{5, 3}));
  EXPECT_EQ(flow.unsolved, 0u);
  // The loop is left more often than it is entered.
  const auto graph = graph_of(4, {{0, 2, 0}, {2, 3, tree}, {3, 2, 0}, {3, 1, tree}});
  const FlowCounts less = solved(graph, {3, -10});
  EXPECT_TRUE(less.negative);
  EXPECT_EQ(less.arcs, (Counts{3, -7, -10, 3}));
}

// The call of block 2 is counted once and returns twice, as fork() does. The arc for a call that
// does not return therefore has the count -1, and no other count contradicts.
TEST(FlowSolver, AllowsACallThatReturnsTwice) {
  const auto graph = graph_of(4, {{0, 2, 0}, {2, 1, tree | arc_fake}, {2, 3, 0}, {3, 1, tree}});
  const FlowCounts flow = solved(graph, {1, 2});
  EXPECT_EQ(flow.arcs, (Counts{1, -1, 2, 2}));
  EXPECT_EQ(flow.blocks, (Counts{1, 1, 1, 2}));
  EXPECT_FALSE(flow.negative);
}

TEST(FlowSolver, ReportsUndeterminedArcs) {
  const auto graph = graph_of(4, {{0, 2, tree}, {2, 3, tree}, {3, 2, tree}, {2, 1, tree}});
  const FlowCounts flow = solved(graph, {});
  EXPECT_EQ(flow.unsolved, 4u);
  EXPECT_EQ(flow.arcs, (Counts{0, 0, 0, 0}));
}

TEST(FlowSolver, ReportsSumsThatDoNotFit) {
  const auto graph = graph_of(4, {{0, 2, tree}, {2, 3, 0}, {2, 1, 0}, {3, 1, tree}});
  EXPECT_TRUE(solved(graph, {INT64_MAX, 1}).overflow);
  EXPECT_TRUE(solved(graph, {INT64_MIN, -1}).overflow);
  EXPECT_FALSE(solved(graph, {INT64_MAX - 1, 1}).overflow);
}

TEST(FlowSolver, ForgetsThePreviousFunction) {
  FlowSolver solver;
  const auto large = graph_of(4, {{0, 2, tree}, {2, 3, 0}, {2, 1, 0}, {3, 1, tree}});
  const auto small = graph_of(2, {{0, 1, 0}});
  const auto empty = graph_of(0, {});
  const GraphFunctionId f{0};
  solver.solve(large, large.functions[f], std::vector<int64_t>{INT64_MAX, 5});
  const FlowCounts &flow = solver.solve(small, small.functions[f], std::vector<int64_t>{4});
  EXPECT_EQ(flow.blocks, (Counts{4, 4}));
  EXPECT_FALSE(flow.overflow || flow.negative);
  EXPECT_TRUE(solver.solve(empty, empty.functions[f], {}).blocks.empty());
}

// Random walks through a random graph, and the counters of its arcs that are not on a random tree.
struct Walked {
  CoverageGraph graph;
  Counts arcs, blocks, counters;
};

Walked walked(std::mt19937 &random) {
  const auto below = [&](uint32_t limit) {
    return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random);
  };
  const uint32_t blocks = 3 + below(12);
  // Each block has an arc to a block nearer to the exit. The other arcs go to any block but the
  // entry, including the block itself, and may go twice to the same block.
  std::vector<uint32_t> order(blocks - 2);
  std::iota(order.begin(), order.end(), 2);
  std::ranges::shuffle(order, random);
  order.insert(order.begin(), 0);
  order.push_back(1);
  std::vector<GraphArc> arcs;
  for (uint32_t i = 0; i + 1 < blocks; ++i) {
    arcs.push_back({order[i], order[i + 1 + below(blocks - 1 - i)], 0});
    for (uint32_t more = order[i] == 0 ? 0 : below(4); more > 0; --more)
      arcs.push_back({order[i], 1 + below(blocks - 1), 0});
  }

  std::vector<uint32_t> root(blocks);
  std::iota(root.begin(), root.end(), 0);
  const auto root_of = [&](uint32_t block) {
    while (root[block] != block)
      block = root[block];
    return block;
  };
  root[1] = 0; // the arc back from the exit to the entry is on the tree
  std::vector<size_t> by_chance(arcs.size());
  std::iota(by_chance.begin(), by_chance.end(), 0);
  std::ranges::shuffle(by_chance, random);
  for (const size_t i : by_chance) {
    const uint32_t a = root_of(arcs[i].source), b = root_of(arcs[i].destination);
    if (a == b)
      continue;
    root[a] = b;
    arcs[i].flags = tree;
  }
  // Notes store the arcs of one block together.
  std::ranges::stable_sort(arcs, {}, &GraphArc::source);

  Walked out{graph_of(blocks, arcs), Counts(arcs.size()), Counts(blocks), {}};
  const auto position_of = [&](uint32_t block) {
    return std::ranges::find(order, block) - order.begin();
  };
  for (uint32_t walk = below(30); walk > 0; --walk) {
    uint32_t at = 0;
    ++out.blocks[0];
    for (uint32_t step = 0; at != 1; ++step) {
      std::vector<size_t> ways;
      for (size_t i = 0; i < arcs.size(); ++i)
        if (arcs[i].source == at &&
            (step < 40 || position_of(arcs[i].destination) > position_of(at)))
          ways.push_back(i);
      const size_t way = ways[below(static_cast<uint32_t>(ways.size()))];
      ++out.arcs[way];
      at = arcs[way].destination;
      ++out.blocks[at];
    }
  }
  for (size_t i = 0; i < arcs.size(); ++i)
    if (!(arcs[i].flags & tree))
      out.counters.push_back(out.arcs[i]);
  return out;
}

TEST(FlowSolver, RecoversTheCountsOfRandomWalks) {
  std::mt19937 random(7);
  FlowSolver solver;
  for (int round = 0; round < 5000; ++round) {
    const Walked walk = walked(random);
    const FlowCounts &flow =
        solver.solve(walk.graph, walk.graph.functions[GraphFunctionId{0}], walk.counters);
    ASSERT_EQ(flow.arcs, walk.arcs) << "round " << round;
    ASSERT_EQ(flow.blocks, walk.blocks) << "round " << round;
    ASSERT_EQ(flow.unsolved, 0u);
    ASSERT_FALSE(flow.negative || flow.overflow);
  }
}

// --- lines

CountedGraph counted(uint32_t blocks, std::vector<CountedArc> arcs) {
  CountedGraph out;
  std::ranges::stable_sort(
      arcs, {}, [](const CountedArc &arc) { return std::pair(arc.source, arc.destination); });
  out.arcs = std::move(arcs);
  for (uint32_t block = 0; block <= blocks; ++block) {
    out.first_out.push_back(static_cast<uint32_t>(std::ranges::count_if(
        out.arcs, [&](const CountedArc &arc) { return arc.source < block; })));
    out.first_in.push_back(static_cast<uint32_t>(out.in.size()));
    for (uint32_t i = 0; i < out.arcs.size(); ++i)
      if (out.arcs[i].destination == block)
        out.in.push_back(i);
  }
  return out;
}

LineCycles::Count line_count(const CountedGraph &graph, std::vector<uint32_t> blocks,
                             uint64_t most_steps = 100'000) {
  LineCycles cycles(most_steps);
  cycles.begin(graph);
  return cycles.count(blocks);
}

TEST(LineCycles, AddsEntriesAndIterations) {
  const auto graph = counted(4, {{0, 2, 0, 10}, {2, 3, 0, 30}, {3, 2, 0, 20}, {3, 1, 0, 10}});
  EXPECT_EQ(line_count(graph, {2, 3}).count, 30); // 10 entries and 20 iterations
  EXPECT_EQ(line_count(graph, {3, 2}).count, 30);
  EXPECT_EQ(line_count(graph, {2}).count, 30);
  EXPECT_EQ(line_count(graph, {3}).count, 30);
  EXPECT_EQ(line_count(graph, {}).count, 0);
}

TEST(LineCycles, CountsALoopOfOneBlock) {
  const auto graph = counted(3, {{0, 2, 0, 10}, {2, 2, 0, 7}, {2, 1, 0, 10}});
  EXPECT_EQ(line_count(graph, {2}).count, 17);
  EXPECT_EQ(line_count(graph, {2, 2}).count, 27); // listed twice, so its entries count twice
}

TEST(LineCycles, CountsCircuitsThatShareAnArc) {
  const auto graph = counted(
      5, {{0, 2, 0, 1}, {2, 3, 0, 6}, {3, 2, 0, 3}, {3, 4, 0, 2}, {4, 2, 0, 2}, {3, 1, 0, 1}});
  EXPECT_EQ(line_count(graph, {2, 3, 4}).count, 1 + 3 + 2);
  EXPECT_EQ(line_count(graph, {2, 3}).count, 1 + 2 + 3); // block 4 is on another line
}

// The six arcs form two circuits of three arcs or three circuits of two. In the order of the
// destinations, the short circuits are found first.
TEST(LineCycles, DependsOnTheOrderOfArcs) {
  const auto graph = counted(
      5, {{2, 3, 0, 4}, {3, 4, 0, 4}, {4, 2, 0, 4}, {3, 2, 0, 4}, {4, 3, 0, 4}, {2, 4, 0, 4}});
  EXPECT_EQ(line_count(graph, {2, 3, 4}).count, 3 * 4);
  EXPECT_EQ(line_count(graph, {4, 3, 2}).count, 3 * 4);
}

// The circuit 2-3-4-5-2 uses up the arcs of 3-4-3 and 4-5-4, and they use up its arcs.
TEST(LineCycles, DependsOnTheOrderOfBlocks) {
  const auto graph = counted(
      6, {{2, 3, 0, 4}, {3, 4, 0, 4}, {4, 5, 0, 4}, {5, 2, 0, 4}, {4, 3, 0, 4}, {5, 4, 0, 4}});
  EXPECT_EQ(line_count(graph, {2, 3, 4, 5}).count, 4);
  EXPECT_EQ(line_count(graph, {3, 4, 2, 5}).count, 8);
}

TEST(LineCycles, IgnoresArcsWithoutACount) {
  const auto graph = counted(4, {{0, 2, 0, 4}, {2, 3, 0, 4}, {3, 2, 0, 0}, {3, 1, 0, 4}});
  EXPECT_EQ(line_count(graph, {2, 3}).count, 4);
  const auto negative = counted(4, {{0, 2, 0, 4}, {2, 3, 0, 4}, {3, 2, 0, -3}, {3, 1, 0, 4}});
  EXPECT_EQ(line_count(negative, {2, 3}).count, 4);
}

TEST(LineCycles, ReportsSumsThatDoNotFit) {
  const auto graph = counted(4, {{0, 2, 0, INT64_MAX}, {0, 3, 0, 1}});
  EXPECT_TRUE(line_count(graph, {2, 3}).overflow);
  EXPECT_FALSE(line_count(graph, {2}).overflow);
}

CountedGraph counted(const Walked &walk) {
  std::vector<CountedArc> arcs;
  for (size_t i = 0; i < walk.arcs.size(); ++i) {
    const GraphArc &arc = walk.graph.arcs[i];
    arcs.push_back({arc.source, arc.destination, arc.flags, walk.arcs[i]});
  }
  return counted(static_cast<uint32_t>(walk.blocks.size()), std::move(arcs));
}

TEST(LineCycles, CountsASingleBlockExactly) {
  std::mt19937 random(8);
  for (int round = 0; round < 1000; ++round) {
    const Walked walk = walked(random);
    const CountedGraph graph = counted(walk);
    LineCycles cycles(100'000);
    cycles.begin(graph);
    for (uint32_t block = 1; block < walk.blocks.size(); ++block)
      ASSERT_EQ(cycles.count(std::array{block}).count, walk.blocks[block]);
  }
}

TEST(LineCycles, LiesBetweenEntriesAndTheSumOfBlocks) {
  std::mt19937 random(9);
  for (int round = 0; round < 3000; ++round) {
    const Walked walk = walked(random);
    const CountedGraph graph = counted(walk);
    std::vector<uint32_t> line;
    for (uint32_t block = 2; block < walk.blocks.size(); ++block)
      if (random() % 2)
        line.push_back(block);
    std::ranges::shuffle(line, random);
    const auto on_line = [&](uint32_t block) {
      return std::ranges::find(line, block) != line.end();
    };
    int64_t entered = 0, most = 0;
    for (const CountedArc &arc : graph.arcs)
      if (on_line(arc.destination) && !on_line(arc.source))
        entered += arc.count;
    for (const uint32_t block : line)
      most += walk.blocks[block];
    const auto count = line_count(graph, line);
    ASSERT_FALSE(count.too_long || count.overflow);
    ASSERT_GE(count.count, entered);
    ASSERT_LE(count.count, most);
    // Without arcs back, the count is the number of entries.
    CountedGraph forward = graph;
    for (CountedArc &arc : forward.arcs)
      if (on_line(arc.source) && arc.destination <= arc.source)
        arc.count = 0;
    int64_t into = 0;
    for (const CountedArc &arc : forward.arcs)
      if (on_line(arc.destination) && !on_line(arc.source))
        into += arc.count;
    ASSERT_EQ(line_count(forward, line).count, into);
  }
}

// --- whole functions

// Returns a graph whose blocks, except entry and exit, are on line 5 and have arcs to each other.
CoverageGraph dense(uint32_t blocks) {
  std::vector<GraphArc> arcs{{0, 2, tree}};
  for (uint32_t from = 2; from < blocks; ++from) {
    for (uint32_t to = 2; to < blocks; ++to)
      arcs.push_back({from, to, 0});
    arcs.push_back({from, 1, 0});
  }
  CoverageGraph graph = graph_of(blocks, std::move(arcs));
  GraphFunction function = graph.functions[GraphFunctionId{0}];
  for (uint32_t block = 2; block < blocks; ++block) {
    graph.locations.push_back({block, function.file, block - 2, block - 1});
    graph.lines.push_back(5);
  }
  function.last_location = blocks - 2;
  CoverageGraph out;
  std::swap(out, graph);
  out.functions = {};
  out.functions.push(function);
  return out;
}

TEST(GcovCounts, ReportsALineThatTakesTooLong) {
  const CoverageGraph graph = dense(120);
  CoverageCounters counters;
  std::mt19937 random(10);
  for (const GraphArc &arc : graph.arcs)
    if (!(arc.flags & tree))
      counters.values.push_back(1 + random() % 1000);
  counters.of.push_back({0, static_cast<uint32_t>(counters.values.size()), true});
  for (const uint64_t most_steps : {uint64_t{50}, uint64_t{5000}, GcovOptions().most_steps}) {
    GcovOptions options;
    options.most_steps = most_steps;
    Diagnostics diagnostics;
    const auto begin = std::chrono::steady_clock::now();
    const GcovCounts counts = count_as_gcov(graph, counters, "f.gcno", diagnostics, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 10) << most_steps;
    ASSERT_EQ(counts.files.size(), 1u);
    ASSERT_EQ(counts.files[0].lines.size(), 1u);
    const bool found = std::ranges::any_of(diagnostics.findings(), [](const Finding &finding) {
      return finding.message.find("line 5 takes too long to count") != std::string::npos;
    });
    if (most_steps <= 5000) {
      EXPECT_TRUE(found);
      EXPECT_EQ(counts.files[0].lines[0].count, 0);
    } else {
      EXPECT_EQ(found, counts.files[0].lines[0].count == 0);
    }
  }
}

TEST(GcovCounts, ReportsNothingAsRunWithoutCounters) {
  const CoverageGraph graph = dense(6);
  CoverageCounters counters;
  counters.none = true;
  counters.of.resize(1);
  Diagnostics diagnostics;
  const GcovCounts counts = count_as_gcov(graph, counters, "f.gcno", diagnostics);
  ASSERT_EQ(counts.files.size(), 1u);
  EXPECT_EQ(counts.files[0].functions.size(), 1u);
  ASSERT_EQ(counts.files[0].lines.size(), 1u);
  EXPECT_EQ(counts.files[0].lines[0].count, 0);
  EXPECT_TRUE(counts.files[0].lines[0].unexecuted_block);
  EXPECT_TRUE(diagnostics.findings().empty());
}

TEST(GcovCounts, ReportsNegativeCounts) {
  const CoverageGraph graph = dense(4);
  CoverageCounters counters;
  counters.values.assign(graph.arcs.size() - 1, -1);
  counters.of.push_back({0, static_cast<uint32_t>(counters.values.size()), true});
  Diagnostics diagnostics;
  count_as_gcov(graph, counters, "f.gcno", diagnostics);
  ASSERT_FALSE(diagnostics.findings().empty());
  EXPECT_NE(diagnostics.findings()[0].text().find("warning: negative counts in 1 function, whose "
                                                  "counts are not exact: f (f.c:1)"),
            std::string::npos)
      << diagnostics.findings()[0].text();
}

// Counts a graph of one function.
GcovCounts counts_of(const CoverageGraph &graph, Counts values) {
  CoverageCounters counters;
  counters.of.push_back({0, static_cast<uint32_t>(values.size()), true});
  counters.values = std::move(values);
  Diagnostics diagnostics;
  return count_as_gcov(graph, counters, "f.gcno", diagnostics);
}

// 0 -> 2 (5), 2 -> 3 (8), 2 -> 4 (on the tree, and therefore -3), 3 -> 1 and 4 -> 1.
TEST(GcovCounts, TreatsANegativeCountAsRun) {
  CoverageGraph graph =
      graph_of(5, {{0, 2, 0}, {2, 3, 0}, {2, 4, tree}, {3, 1, tree}, {4, 1, tree}});
  GraphFunction &function = graph.functions[GraphFunctionId{0}];
  for (uint32_t block = 2; block < 5; ++block) {
    const auto first = static_cast<uint32_t>(graph.lines.size());
    graph.locations.push_back({block, function.file, first, first + 1});
    graph.lines.push_back(block);
  }
  function.last_location = 3;
  const GcovCounts counts = counts_of(graph, {5, 8});
  ASSERT_EQ(counts.files.size(), 1u);
  EXPECT_TRUE(counts.files[0].functions.at(0).inexact);
  const auto &lines = counts.files[0].lines;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].count, 8);
  EXPECT_EQ(lines[1].at_least, 8);
  EXPECT_EQ(lines[2].count, -3); // as gcov prints it
  EXPECT_EQ(lines[2].at_least, 1);
}

// A block of Clang counts for each of its lines, and its branches belong to the last line.
TEST(GcovCounts, PutsClangsBranchesWhereTheirBlockEnds) {
  CoverageGraph graph =
      graph_of(5, {{0, 2, tree}, {2, 3, 0}, {2, 4, 0}, {3, 1, tree}, {4, 1, tree}});
  GraphFunction &function = graph.functions[GraphFunctionId{0}];
  graph.by_clang = true;
  graph.lines = {7, 9, 8};
  graph.locations = {{2, function.file, 0, 3}};
  function.last_location = 1;
  const GcovCounts counts = counts_of(graph, {5, 8});
  ASSERT_EQ(counts.files.size(), 1u);
  std::string seen;
  for (const GcovLine &line : counts.files[0].lines)
    seen += fmt::format("{}:{}:{} ", line.line, line.count, line.last_branch - line.first_branch);
  EXPECT_EQ(seen, "7:13:0 8:13:2 9:13:0 ");
}

// Functions that include a part of their body from one file share all lines of that part.
TEST(GcovCounts, UsesLinearMemoryForALineOfManyFunctions) {
  constexpr uint32_t count = 4000;
  CoverageGraph graph;
  const StringId name = graph.strings.intern("f"), file = graph.strings.intern("f.c");
  for (uint32_t i = 0; i < count; ++i) {
    GraphFunction function;
    function.name = name;
    function.file = file;
    function.start_line = function.end_line = 100 + i;
    function.block_count = 4;
    function.exit_block = 1;
    function.first_arc = 4 * i;
    function.last_arc = 4 * (i + 1);
    function.first_location = 2 * i;
    function.last_location = 2 * (i + 1);
    function.first_condition = i;
    function.last_condition = i + 1;
    graph.functions.push(function);
    for (const GraphArc arc : {GraphArc{0, 2, tree}, {2, 3, 0}, {2, 1, 0}, {3, 1, tree}})
      graph.arcs.push_back(arc);
    graph.conditions.push_back({2, 1 + i % 64});
    for (const uint32_t line : {100 + i, 50u}) { // so that the rows of line 50 are not adjacent
      const auto first = static_cast<uint32_t>(graph.lines.size());
      graph.locations.push_back({2, file, first, first + 1});
      graph.lines.push_back(line);
    }
  }
  CoverageCounters counters;
  counters.none = true;
  counters.of.resize(count);
  Diagnostics diagnostics;
  GcovOptions options;
  options.blocks = true;
  const GcovCounts counts = count_as_gcov(graph, counters, "f.gcno", diagnostics, options);
  ASSERT_EQ(counts.files.size(), 1u);
  ASSERT_EQ(counts.files[0].lines.size(), count + 1);
  const GcovLine &line = counts.files[0].lines[0];
  EXPECT_EQ(line.line, 50u);
  EXPECT_EQ(line.last_branch - line.first_branch, 2 * count);
  const GcovDetails &details = counts.details[line.details];
  EXPECT_EQ(details.last_block - details.first_block, count);
  ASSERT_EQ(details.last_condition - details.first_condition, count);
  for (uint32_t i = 0; i < count; ++i) // in the order of the functions
    ASSERT_EQ(counts.conditions[details.first_condition + i].terms, 1 + i % 64);
  EXPECT_LE(counts.branches.size(), 6 * count);
  EXPECT_LE(counts.blocks.size(), 3 * count);
  EXPECT_LE(counts.conditions.size(), 2 * count);
  EXPECT_LE(counts.details.size(), 2 * count + 2);
}

// The last line of the block gets all its conditions.
TEST(GcovCounts, CountsManyConditionsOfABlockOnManyLines) {
  constexpr uint32_t count = 100'000;
  CoverageGraph graph = graph_of(4, {{0, 2, tree}, {2, 3, 0}, {2, 1, 0}, {3, 1, tree}});
  GraphFunction function = graph.functions[GraphFunctionId{0}];
  for (uint32_t i = 0; i < count; ++i) {
    graph.locations.push_back({2, function.file, i, i + 1});
    graph.lines.push_back(10 + i);
    graph.conditions.push_back({2, 2});
  }
  function.last_location = function.last_condition = count;
  graph.functions = {};
  graph.functions.push(function);
  CoverageCounters counters;
  counters.none = true;
  counters.of.resize(1);
  Diagnostics diagnostics;
  const auto begin = std::chrono::steady_clock::now();
  const GcovCounts counts = count_as_gcov(graph, counters, "f.gcno", diagnostics);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 5);
  ASSERT_EQ(counts.files[0].lines.size(), count);
  EXPECT_EQ(counts.files[0].lines[0].details, 0u);
  const GcovDetails &details = counts.details[counts.files[0].lines.back().details];
  EXPECT_EQ(details.last_condition - details.first_condition, count);
}

} // namespace
} // namespace tally::coverage_test
