#include <limits>

#include <gtest/gtest.h>

#include "coverage/gcov3_counts.h"

namespace tally::coverage_gcov3_counts_test {
namespace {

using Texts = std::vector<std::string>;
using Counters = std::vector<std::vector<int64_t>>;

// Builds a graph whose blocks have the given numbers; a location is (block, file, lines).
class Graph {
public:
  Graph &function(const char *name, uint32_t blocks, const std::vector<GraphArc> &arcs) {
    GraphFunction f;
    f.name = graph_.strings.intern(name);
    f.block_count = blocks;
    f.exit_block = blocks - 1;
    f.first_arc = static_cast<uint32_t>(graph_.arcs.size());
    graph_.arcs.insert(graph_.arcs.end(), arcs.begin(), arcs.end());
    f.last_arc = static_cast<uint32_t>(graph_.arcs.size());
    f.first_location = f.last_location = static_cast<uint32_t>(graph_.locations.size());
    last_ = graph_.functions.push(f);
    return *this;
  }
  Graph &lines(uint32_t block, const char *file, const std::vector<uint32_t> &lines) {
    const auto first = static_cast<uint32_t>(graph_.lines.size());
    graph_.lines.insert(graph_.lines.end(), lines.begin(), lines.end());
    graph_.locations.push_back(
        {block, graph_.strings.intern(file), first, static_cast<uint32_t>(graph_.lines.size())});
    ++graph_.functions[last_].last_location;
    return *this;
  }
  operator const CoverageGraph &() const { return graph_; }

private:
  CoverageGraph graph_;
  GraphFunctionId last_{};
};

// Returns for each file its name, then "count:line" followed by its branches: "b" (or "c" for a
// call) and count/total.
Texts texts(const CoverageGraph &graph, const Gcov3Counts &counts) {
  Texts out;
  for (const Gcov3Source &source : counts.sources) {
    out.emplace_back(graph.strings[source.name]);
    for (const Gcov3Line &line : source.lines) {
      std::string text = std::to_string(line.count) + ":" + std::to_string(line.number);
      for (uint32_t i = line.first_branch; i < line.last_branch; ++i) {
        const Gcov3Branch &branch = source.branches[i];
        text += (branch.is_call ? " c" : " b") + std::to_string(branch.count) + "/" +
                std::to_string(branch.total);
      }
      out.push_back(text);
    }
  }
  return out;
}

Texts counted(const CoverageGraph &graph, const Counters &counters, const Texts &findings = {}) {
  Diagnostics diagnostics;
  const auto counts = gcov3_counts(graph, counters, diagnostics, "x.da");
  if (!counts)
    return {counts.error().text()};
  Texts found;
  for (const Finding &finding : diagnostics.findings())
    found.push_back(finding.text());
  EXPECT_EQ(found, findings);
  return texts(graph, *counts);
}

// A loop: block 1 is its head, block 2 its body with a call that may not return. The counters are
// of the arcs into the body, out of the loop, and back.
const std::vector<GraphArc> loop{{0, 1, 5}, {1, 2, 4}, {1, 3, 0}, {2, 4, 3},
                                 {2, 1, 0}, {3, 4, 5}, {4, 0, 1}};
// Block 1 branches to 2 and 3, which join in 4.
const std::vector<GraphArc> diamond{{0, 1, 5}, {1, 2, 5}, {1, 3, 0}, {2, 4, 0},
                                    {3, 4, 5}, {4, 5, 5}, {5, 0, 1}};

Gcov3Counts counts_of(const CoverageGraph &graph, const Counters &counters) {
  Diagnostics diagnostics;
  auto counts = gcov3_counts(graph, counters, diagnostics);
  EXPECT_TRUE(counts);
  return std::move(*counts);
}

using Numbers = std::vector<uint32_t>;
Numbers numbers(const Gcov3Totals &t) {
  return {t.lines,          t.lines_executed, t.branches,      t.branches_executed,
          t.branches_taken, t.calls,          t.calls_executed};
}

TEST(Gcov3Counts, SumsLinesAndPutsBranchesWhereTheirBlockEnds) {
  Graph graph;
  graph.function("f", 5, loop).lines(1, "a.c", {3, 2, 3}).lines(2, "a.c", {4});
  // Two of nine calls did not return.
  EXPECT_EQ(counted(graph, {{9, 2, 7}}), (Texts{"a.c", "11:2", "22:3 b2/11", "9:4 c7/9 b7/9"}));
  const Gcov3Counts counts = counts_of(graph, {{9, 2, 7}});
  ASSERT_EQ(counts.functions.size(), 1u);
  EXPECT_EQ(counts.functions[0].count, 4);
  EXPECT_EQ(counts.functions[0].source, 0u);
  EXPECT_EQ(counts.functions[0].first_line, 3u);
  EXPECT_EQ(numbers(counts.functions[0].totals), (Numbers{3, 3, 2, 2, 2, 1, 1}));
  EXPECT_EQ(numbers(counts.sources[0].totals), (Numbers{3, 3, 2, 2, 2, 1, 1}));
  // Without counters, all counts are 0.
  for (const Counters &none : {Counters{}, Counters{{}}, Counters{{0, 0, 0}}})
    EXPECT_EQ(counted(graph, none), (Texts{"a.c", "0:2", "0:3 b0/0", "0:4 c0/0 b0/0"}));
  EXPECT_EQ(numbers(counts_of(graph, {}).sources[0].totals), (Numbers{3, 0, 2, 0, 0, 1, 0}));
  // A missing counter is 0, and an additional one is ignored.
  EXPECT_EQ(counted(graph, {{9, 2}}), counted(graph, {{9, 2, 0, 5}}));
}

TEST(Gcov3Counts, PutsBlocksWithoutLinesOnTheLineBefore) {
  Graph graph;
  graph.function("f", 6, diamond).lines(1, "a.c", {7});
  EXPECT_EQ(counted(graph, {{3, 4}}), (Texts{"a.c", "7:7 b3/7 b4/4"}));
  // A line of another function is not the line before.
  graph.function("g", 6, diamond).lines(3, "a.c", {7}).lines(4, "a.c", {8});
  EXPECT_EQ(counted(graph, {{3, 4}, {1, 5}}), (Texts{"a.c", "8:7 b3/7 b4/4", "6:8"}));
  // A function without lines has a count, but no source.
  graph.function("h", 6, diamond);
  const Gcov3Counts counts = counts_of(graph, {{}, {}, {8, 1}});
  EXPECT_EQ(counts.functions[2].count, 9);
  EXPECT_EQ(counts.functions[2].source, Gcov3Function::no_source);
  EXPECT_EQ(numbers(counts.functions[2].totals), Numbers(7));
}

// Two functions share a line, and one of them did not run; lines of an included file do not belong
// to the function's totals.
TEST(Gcov3Counts, LimitsTotalsToTheFunctionsOwnSource) {
  Graph graph;
  graph.function("f", 6, diamond).lines(1, "a.c", {7}).lines(2, "a.h", {1}).lines(4, "a.c", {8});
  graph.function("g", 6, diamond).lines(1, "a.c", {7});
  const Gcov3Counts counts = counts_of(graph, {{3, 4}, {}});
  EXPECT_EQ(numbers(counts.functions[0].totals), (Numbers{2, 2, 1, 1, 1, 0, 0}));
  EXPECT_EQ(numbers(counts.functions[1].totals), (Numbers{1, 0, 2, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(counts.sources[0].totals), (Numbers{2, 2, 3, 1, 1, 0, 0}));
  EXPECT_EQ(numbers(counts.sources[1].totals), (Numbers{1, 1, 1, 1, 1, 0, 0}));
}

TEST(Gcov3Counts, ReportsImpossibleCounts) {
  Graph graph;
  graph.function("f", 5, loop).lines(1, "a.c", {3}).lines(2, "a.c", {4});
  EXPECT_EQ(
      counted(
          graph, {{1, 2, 7}},
          {"x.da: error: negative counts in 1 function, whose counts are not exact: f (a.c:3); "
           "lines with a negative count are reported as run. Threads that count without "
           "-fprofile-update=atomic leave such counts, as do exec(), longjmp() and, with Clang, "
           "exceptions"}),
      (Texts{"a.c", "3:3 b2/3", "1:4 c7/1 b7/1"}));
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const Texts too_large{"x.da: the sum of the counts in function f exceeds 64 bits"};
  EXPECT_EQ(counted(graph, {{most, most, 0}}), too_large);
  Graph often;
  often.function("f", 5, loop).lines(1, "a.c", {3, 3});
  EXPECT_EQ(counted(often, {{most, 0, most}}), too_large);
  // A cycle of arcs without counters.
  Graph circle;
  circle.function("f", 4, {{0, 3, 5}, {1, 2, 1}, {2, 1, 1}, {3, 0, 1}}).lines(1, "a.c", {3});
  EXPECT_EQ(
      counted(circle, {}, {"x.da: error: function f: the counts of 4 arcs cannot be determined"}),
      (Texts{"a.c", "0:3 b0/0 b0/0"}));
}

} // namespace
} // namespace tally::coverage_gcov3_counts_test
